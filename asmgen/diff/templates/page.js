"use strict";
(() => {
  const root = document.documentElement;
  const turn = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  };
  document.getElementById("theme").addEventListener("click", turn);
  document.addEventListener("keydown", (event) => {
    if (event.key === "t" && !event.ctrlKey && !event.metaKey && !event.altKey) turn();
  });

  for (const list of document.querySelectorAll("[role=tablist]")) {
    const tabs = [...list.querySelectorAll("[role=tab]")];
    const choose = (tab) => {
      for (const each of tabs) {
        const chosen = each === tab;
        each.setAttribute("aria-selected", String(chosen));
        each.tabIndex = chosen ? 0 : -1;
        document.getElementById(each.getAttribute("aria-controls")).hidden = !chosen;
      }
    };
    for (const tab of tabs) tab.addEventListener("click", () => choose(tab));
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
      choose(next);
      next.focus();
      event.preventDefault();
    });
  }

  for (const table of document.querySelectorAll("table.listing")) listing(table);

  function listing(table) {
    const cells = [...table.querySelectorAll("td[tabindex]")];
    const bySide = { ours: new Map(), theirs: new Map() };
    const byLine = new Map();
    for (const cell of cells) {
      if (cell.dataset.side) bySide[cell.dataset.side].set(cell.dataset.n, cell);
      if (cell.dataset.line) byLine.set(cell.dataset.line, [...(byLine.get(cell.dataset.line) || []), cell]);
    }
    const partners = (cell) => {
      const other = cell.dataset.side === "ours" ? "theirs" : "ours";
      const found = (cell.dataset.partners || "").split(" ").filter(Boolean);
      return found.map((number) => bySide[other].get(number)).filter(Boolean);
    };
    const family = (cell) => {
      const found = new Set([cell]);
      if (!cell.dataset.side) for (const each of byLine.get(cell.dataset.line) || []) found.add(each);
      for (const each of [...found]) if (each.dataset.side) for (const one of partners(each)) found.add(one);
      for (const each of [...found]) {
        if (each.dataset.side !== "ours" || !cell.dataset.side) continue;
        for (const one of byLine.get(each.dataset.line) || []) if (!one.dataset.side) found.add(one);
      }
      return found;
    };
    let pinned = null;
    const clear = (name) => { for (const each of table.querySelectorAll("." + name)) each.classList.remove(name); };
    const light = (cell) => { clear("lit"); for (const each of family(cell)) each.classList.add("lit"); };
    const pin = (cell) => {
      clear("pinned");
      pinned = pinned === cell ? null : cell;
      if (!pinned) return;
      for (const each of family(cell)) each.classList.add("pinned");
      const far = partners(cell)[0];
      if (far) {
        const box = far.getBoundingClientRect();
        if (box.top < 40 || box.bottom > innerHeight) far.scrollIntoView({ block: "center", behavior: "smooth" });
      }
    };
    const cellOf = (event) => event.target.closest("td[tabindex]");
    table.addEventListener("mouseover", (event) => { const cell = cellOf(event); if (cell) light(cell); });
    table.addEventListener("mouseleave", () => clear("lit"));
    table.addEventListener("focusin", (event) => { const cell = cellOf(event); if (cell) light(cell); });
    table.addEventListener("click", (event) => { const cell = cellOf(event); if (cell) pin(cell); });
    const go = (cell) => {
      if (!cell) return;
      for (const each of table.querySelectorAll("td[tabindex='0']")) each.tabIndex = -1;
      cell.tabIndex = 0;
      cell.focus({ preventScroll: true });
      cell.scrollIntoView({ block: "nearest" });
    };
    table.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      const column = cell.cellIndex;
      const walk = (row, step) => {
        for (row = row && row[step]; row; row = row[step]) {
          if (row.cells[column].hasAttribute("tabindex")) return row.cells[column];
        }
        return null;
      };
      const across = (step) => {
        const near = cell.parentElement.cells[column + step];
        if (near && near.hasAttribute("tabindex")) return near;
        const linked = [...family(cell)].find((each) => each.cellIndex === column + step);
        return linked || null;
      };
      const moves = {
        ArrowDown: () => walk(cell.parentElement, "nextElementSibling"),
        ArrowUp: () => walk(cell.parentElement, "previousElementSibling"),
        ArrowRight: () => across(1),
        ArrowLeft: () => across(-1),
        Home: () => cells.find((each) => each.cellIndex === column),
        End: () => cells.filter((each) => each.cellIndex === column).pop(),
      };
      if (moves[event.key]) go(moves[event.key]());
      else if (event.key === "Enter" || event.key === " ") pin(cell);
      else if (event.key === "p") go(partners(cell)[0]);
      else if (event.key === "Escape") { clear("pinned"); clear("lit"); pinned = null; }
      else return;
      event.preventDefault();
    });
    const part = table.closest(".part");
    for (const button of part ? part.querySelectorAll("[data-cause]") : []) {
      button.addEventListener("click", () => {
        clear("pinned");
        pinned = null;
        const found = cells.filter((each) => each.dataset.cause === button.dataset.cause);
        for (const each of found) each.classList.add("pinned");
        if (found[0]) go(found[0]);
      });
    }
  }
})();
