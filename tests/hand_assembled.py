"""Routines written by hand for the emulator to run: right ones, and one for each way to be wrong.

Each is the source and the bytes that GNU as made of it, checked against each other where GNU as is installed.
"""

from __future__ import annotations

#: name -> target -> (source, bytes)
ROUTINES: dict[str, dict[str, tuple[str, str]]] = {
    "add": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9c0035fd6",
        ),
    },
    "add_saving": {
        "amd64": (
            "push %rbx\npush %r12\nmov $1,%ebx\nmov $2,%r12d\nmov (%rsi),%rax\nmov 8(%rsi),%rcx\n"
            "mov 16(%rsi),%r8\nmov 24(%rsi),%r9\nadd (%rdx),%rax\nadd 8(%rdx),%rcx\n"
            "add 16(%rdx),%r8\nadd 24(%rdx),%r9\nmov %rax,(%rdi)\nmov %rcx,8(%rdi)\n"
            "mov %r8,16(%rdi)\nmov %r9,24(%rdi)\npop %r12\npop %rbx\nret\n",
            "534154bb0100000041bc02000000488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748"
            "894f084c8947104c894f18415c5bc3",
        ),
        "arm64": (
            "stp x19,x20,[sp,-16]!\nmov x19,1\nmov x20,2\nldp x3,x4,[x1]\nldp x5,x6,[x1,16]\n"
            "ldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\nadd x4,x4,x8\nadd x5,x5,x9\n"
            "add x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\nldp x19,x20,[sp],16\nret\n",
            "f353bfa9330080d2540080d2231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9"
            "051801a9f353c1a8c0035fd6",
        ),
    },
    "add_restoring_crosswise": {
        "amd64": (
            "push %rbx\npush %r12\nmov $1,%ebx\nmov $2,%r12d\nmov (%rsi),%rax\nmov 8(%rsi),%rcx\n"
            "mov 16(%rsi),%r8\nmov 24(%rsi),%r9\nadd (%rdx),%rax\nadd 8(%rdx),%rcx\n"
            "add 16(%rdx),%r8\nadd 24(%rdx),%r9\nmov %rax,(%rdi)\nmov %rcx,8(%rdi)\n"
            "mov %r8,16(%rdi)\nmov %r9,24(%rdi)\npop %rbx\npop %r12\nret\n",
            "534154bb0100000041bc02000000488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748"
            "894f084c8947104c894f185b415cc3",
        ),
        "arm64": (
            "stp x19,x20,[sp,-16]!\nmov x19,1\nmov x20,2\nldp x3,x4,[x1]\nldp x5,x6,[x1,16]\n"
            "ldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\nadd x4,x4,x8\nadd x5,x5,x9\n"
            "add x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\nldp x20,x19,[sp],16\nret\n",
            "f353bfa9330080d2540080d2231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9"
            "051801a9f44fc1a8c0035fd6",
        ),
    },
    "missing_store": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c894710c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstr x5,[x0,16]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9050800f9c0035fd6",
        ),
    },
    "not_for_aliases": {
        "amd64": (
            "movq $0,24(%rdi)\nmov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\n"
            "mov 24(%rsi),%r9\nadd (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\n"
            "add 24(%rdx),%r9\nmov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\n"
            "mov %r9,24(%rdi)\nret\n",
            "48c7471800000000488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947"
            "104c894f18c3",
        ),
        "arm64": (
            "str xzr,[x0,24]\nldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\n"
            "ldp x9,x10,[x2,16]\nadd x3,x3,x7\nadd x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\n"
            "stp x3,x4,[x0]\nstp x5,x6,[x0,16]\nret\n",
            "1f0c00f9231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9c0035fd6",
        ),
    },
    "carry_in": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "adc (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nret\n",
            "488b06488b4e084c8b46104c8b4e1848130248034a084c0342104c034a1848890748894f084c8947104c894f18c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadc x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\nret\n",
            "231040a9251841a9472040a9492841a96300079a8400088ba500098bc6000a8b031000a9051801a9c0035fd6",
        ),
    },
    "stale_register": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n"
            "add %r10,(%rdi)\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f184c0117c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "add x3,x3,x11\nstr x3,[x0]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a963000b8b030000f9c0035fd6",
        ),
    },
    "sp_low": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\npop %rax\n"
            "sub $16,%rsp\njmp *%rax\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18584883ec10ffe0",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "sub sp,sp,16\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9ff4300d1c0035fd6",
        ),
    },
    "sp_high": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\npop %rax\n"
            "add $16,%rsp\njmp *%rax\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18584883c410ffe0",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "add sp,sp,16\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9ff430091c0035fd6",
        ),
    },
    "reads_before": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n"
            "mov -8(%rsi),%rax\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18488b46f8c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "ldr x3,[x1,-8]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a923805ff8c0035fd6",
        ),
    },
    "reads_after": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n"
            "mov 32(%rdx),%rax\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18488b4220c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "ldr x3,[x2,32]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9431040f9c0035fd6",
        ),
    },
    "writes_before": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n"
            "mov %rax,-8(%rdi)\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18488947f8c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "str x3,[x0,-8]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a903801ff8c0035fd6",
        ),
    },
    "writes_after": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n"
            "mov %rax,32(%rdi)\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f1848894720c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "str x3,[x0,32]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9031000f9c0035fd6",
        ),
    },
    "writes_input": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nincq 8(%rsi)\n"
            "ret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f1848ff4608c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "ldr x3,[x1,8]\nadd x3,x3,1\nstr x3,[x1,8]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9230440f963040091"
            "230400f9c0035fd6",
        ),
    },
    "red_zone": {
        "amd64": (
            "mov %rbx,-8(%rsp)\nmov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\n"
            "mov 24(%rsi),%r9\nadd (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\n"
            "add 24(%rdx),%r9\nmov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\n"
            "mov %r9,24(%rdi)\nmov -8(%rsp),%rbx\nret\n",
            "48895c24f8488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c89"
            "4f18488b5c24f8c3",
        ),
        "arm64": (
            "str x19,[sp,-8]\nldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\n"
            "ldp x9,x10,[x2,16]\nadd x3,x3,x7\nadd x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\n"
            "stp x3,x4,[x0]\nstp x5,x6,[x0,16]\nldr x19,[sp,-8]\nret\n",
            "f3831ff8231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f3835ff8c0035fd6",
        ),
    },
    "callers_stack": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n"
            "mov %rax,16(%rsp)\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f184889442410c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "str x3,[sp,8]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9e30700f9c0035fd6",
        ),
    },
    "endless": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n1: jmp 1b\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18ebfe",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "1: b 1b\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a900000014",
        ),
    },
    "stuck": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nhlt\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18f4c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n1: wfi\n"
            "b 1b\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a97f2003d5ffffff17",
        ),
    },
    "invalid": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nud2\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f180f0b",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            ".inst 0\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a900000000",
        ),
    },
    "runs_off": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9",
        ),
    },
    "wrong_return": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\npush %rdx\n"
            "ret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f1852c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x30,x2\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9fe0302aac0035fd6",
        ),
    },
    "unbalanced": {
        "amd64": (
            "push %rbx\nmov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nret\n",
            "53488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18c3",
        ),
        "arm64": (
            "stp x19,x30,[sp,-16]!\nldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\n"
            "ldp x9,x10,[x2,16]\nadd x3,x3,x7\nadd x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\n"
            "stp x3,x4,[x0]\nstp x5,x6,[x0,16]\nldp x30,x19,[sp],16\nret\n",
            "f37bbfa9231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9fe4fc1a8c0035fd6",
        ),
    },
    "writes_code": {
        "amd64": (
            "lea 0f(%rip),%rax\nmovb $1,(%rax)\nmov (%rsi),%rax\nmov 8(%rsi),%rcx\n"
            "mov 16(%rsi),%r8\nmov 24(%rsi),%r9\nadd (%rdx),%rax\nadd 8(%rdx),%rcx\n"
            "add 16(%rdx),%r8\nadd 24(%rdx),%r9\nmov %rax,(%rdi)\nmov %rcx,8(%rdi)\n"
            "mov %r8,16(%rdi)\nmov %r9,24(%rdi)\nret\n0: nop\n",
            "488d0531000000c60001488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c"
            "8947104c894f18c390",
        ),
        "arm64": (
            "adr x9,0f\nstr x9,[x9]\nldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\n"
            "ldp x9,x10,[x2,16]\nadd x3,x3,x7\nadd x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\n"
            "stp x3,x4,[x0]\nstp x5,x6,[x0,16]\nret\n0: nop\n",
            "a9010010290100f9231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9"
            "c0035fd61f2003d5",
        ),
    },
    "wild": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n"
            "mov %rax,0x10(%rbx)\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f1848894310c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "str x3,[x19,16]\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9630a00f9c0035fd6",
        ),
    },
    "direction": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nstd\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18fdc3",
        ),
    },
    "adx": {
        "amd64": (
            "xor %eax,%eax\nmov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "adcx (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nret\n",
            "31c0488b06488b4e084c8b46104c8b4e1866480f38f60248034a084c0342104c034a1848890748894f084c8947104c894f18c3",
        ),
    },
    "bmi2": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\n"
            "mulx %rdx,%rax,%rcx\nret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f18c4e2fbf6cac3",
        ),
    },
    "vector": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "fmov d11,xzr\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9eb03679ec0035fd6",
        ),
    },
    "platform": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x18,xzr\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f2031faac0035fd6",
        ),
    },
    "add_n": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%r8\nmov 16(%rsi),%r9\nmov 24(%rsi),%r10\n"
            "test %rcx,%rcx\njz 2f\n1: add (%rdx),%rax\nadd 8(%rdx),%r8\nadd 16(%rdx),%r9\n"
            "add 24(%rdx),%r10\ndec %rcx\njnz 1b\n2: mov %rax,(%rdi)\nmov %r8,8(%rdi)\n"
            "mov %r9,16(%rdi)\nmov %r10,24(%rdi)\nret\n",
            "488b064c8b46084c8b4e104c8b56184885c974144803024c0342084c034a104c03521848ffc975ec4889074c8947084c"
            "894f104c895718c3",
        ),
        "arm64": (
            "ldp x4,x5,[x1]\nldp x6,x7,[x1,16]\nldp x8,x9,[x2]\nldp x10,x11,[x2,16]\ncbz x3,2f\n"
            "1: add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nadd x7,x7,x11\nsubs x3,x3,1\nb.ne 1b\n"
            "2: stp x4,x5,[x0]\nstp x6,x7,[x0,16]\nret\n",
            "241440a9261c41a9482440a94a2c41a9e30000b48400088ba500098bc6000a8be7000b8b630400f161ffff54041400a9"
            "061c01a9c0035fd6",
        ),
    },
    "copy33": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%rdx\nmov 24(%rsi),%r8\n"
            "mov 32(%rsi),%r9b\nmov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %rdx,16(%rdi)\n"
            "mov %r8,24(%rdi)\nmov %r9b,32(%rdi)\nret\n",
            "488b06488b4e08488b56104c8b4618448a4e2048890748894f08488957104c89471844884f20c3",
        ),
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldrb w7,[x1,32]\nstp x3,x4,[x0]\n"
            "stp x5,x6,[x0,16]\nstrb w7,[x0,32]\nret\n",
            "231040a9251841a927804039031000a9051801a907800039c0035fd6",
        ),
    },
    "equal": {
        "amd64": (
            "xor %eax,%eax\nmov (%rdi),%rcx\nmov 8(%rdi),%rdx\nxor (%rsi),%rcx\nxor 8(%rsi),%rdx\n"
            "or %rdx,%rcx\nsete %al\nret\n",
            "31c0488b0f488b570848330e483356084809d10f94c0c3",
        ),
        "arm64": (
            "ldp x2,x3,[x0]\nldp x4,x5,[x1]\neor x2,x2,x4\neor x3,x3,x5\norr x2,x2,x3\ncmp x2,0\ncset x0,eq\nret\n",
            "020c40a9241440a9420004ca630005ca420003aa5f0000f1e0179f9ac0035fd6",
        ),
    },
    "equal_upper_garbage": {
        "amd64": (
            "mov (%rdi),%rcx\nmov 8(%rdi),%rdx\nxor (%rsi),%rcx\nxor 8(%rsi),%rdx\nor %rdx,%rcx\nsete %al\nret\n",
            "488b0f488b570848330e483356084809d10f94c0c3",
        ),
        "arm64": (
            "ldp x2,x3,[x0]\nldp x4,x5,[x1]\neor x2,x2,x4\neor x3,x3,x5\norr x2,x2,x3\ncmp x2,0\n"
            "cset x0,eq\norr x0,x0,x2\nret\n",
            "020c40a9241440a9420004ca630005ca420003aa5f0000f1e0179f9a000002aac0035fd6",
        ),
    },
    "sum9": {
        "amd64": (
            "mov (%rsi),%rax\nmov (%rdx),%r10\nmov (%rcx),%r11\nadd (%r8),%rax\nadd (%r9),%r10\n"
            "mov 8(%rsp),%rsi\nmov 16(%rsp),%rdx\nadd (%rsi),%r11\nadd %rdx,%rax\n"
            "mov 24(%rsp),%rcx\nadd (%rcx),%r10\nmovq $0,8(%rsp)\nadd %r11,%rax\nadd %r10,%rax\n"
            "mov %rax,(%rdi)\nret\n",
            "488b064c8b124c8b194903004d0311488b742408488b5424104c031e4801d0488b4c24184c031148c744240800000000"
            "4c01d84c01d0488907c3",
        ),
        "arm64": (
            "ldr x9,[x1]\nldr x10,[x2]\nldr x11,[x3]\nldr x12,[x4]\nldr x13,[x5]\nldr x14,[x6]\n"
            "add x9,x9,x10\nadd x11,x11,x12\nadd x13,x13,x14\nadd x9,x9,x7\nldr x15,[sp]\n"
            "ldr x15,[x15]\nstr xzr,[sp]\nadd x11,x11,x13\nadd x9,x9,x15\nadd x9,x9,x11\n"
            "str x9,[x0]\nret\n",
            "290040f94a0040f96b0040f98c0040f9ad0040f9ce0040f929010a8b6b010c8bad010e8b2901078bef0340f9ef0140f9"
            "ff0300f96b010d8b29010f8b29010b8b090000f9c0035fd6",
        ),
    },
    "swap_add": {
        "amd64": (
            "mov (%rdx),%rax\nmov (%rcx),%r8\nmov %rax,%r9\nadd %r8,%rax\nsub %r8,%r9\n"
            "add $0x40000000,%r9\nmov %rax,(%rdi)\nmov %r9,(%rsi)\nret\n",
            "488b024c8b014989c14c01c04d29c14981c1000000404889074c890ec3",
        ),
        "arm64": (
            "ldr x4,[x2]\nldr x5,[x3]\nadd x6,x4,x5\nsub x7,x4,x5\nmov x8,0x40000000\n"
            "add x7,x7,x8\nstr x6,[x0]\nstr x7,[x1]\nret\n",
            "440040f9650040f98600058b870005cb0800a8d2e700088b060000f9270000f9c0035fd6",
        ),
    },
    "look_up": {
        "amd64": (
            "mov (%rsi,%rdx,8),%rax\nmov %rax,(%rdi)\nret\n",
            "488b04d6488907c3",
        ),
        "arm64": (
            "ldr x3,[x1,x2,lsl 3]\nstr x3,[x0]\nret\n",
            "237862f8030000f9c0035fd6",
        ),
    },
    "clobbers_rbx": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nmov %rax,%rbx\n"
            "ret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f184889c3c3",
        ),
    },
    "clobbers_rbp": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nmov %rax,%rbp\n"
            "ret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f184889c5c3",
        ),
    },
    "clobbers_r12": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nmov %rax,%r12\n"
            "ret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f184989c4c3",
        ),
    },
    "clobbers_r13": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nmov %rax,%r13\n"
            "ret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f184989c5c3",
        ),
    },
    "clobbers_r14": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nmov %rax,%r14\n"
            "ret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f184989c6c3",
        ),
    },
    "clobbers_r15": {
        "amd64": (
            "mov (%rsi),%rax\nmov 8(%rsi),%rcx\nmov 16(%rsi),%r8\nmov 24(%rsi),%r9\n"
            "add (%rdx),%rax\nadd 8(%rdx),%rcx\nadd 16(%rdx),%r8\nadd 24(%rdx),%r9\n"
            "mov %rax,(%rdi)\nmov %rcx,8(%rdi)\nmov %r8,16(%rdi)\nmov %r9,24(%rdi)\nmov %rax,%r15\n"
            "ret\n",
            "488b06488b4e084c8b46104c8b4e1848030248034a084c0342104c034a1848890748894f084c8947104c894f184989c7c3",
        ),
    },
    "clobbers_x19": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x19,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f30303aac0035fd6",
        ),
    },
    "clobbers_x20": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x20,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f40303aac0035fd6",
        ),
    },
    "clobbers_x21": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x21,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f50303aac0035fd6",
        ),
    },
    "clobbers_x22": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x22,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f60303aac0035fd6",
        ),
    },
    "clobbers_x23": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x23,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f70303aac0035fd6",
        ),
    },
    "clobbers_x24": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x24,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f80303aac0035fd6",
        ),
    },
    "clobbers_x25": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x25,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9f90303aac0035fd6",
        ),
    },
    "clobbers_x26": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x26,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9fa0303aac0035fd6",
        ),
    },
    "clobbers_x27": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x27,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9fb0303aac0035fd6",
        ),
    },
    "clobbers_x28": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x28,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9fc0303aac0035fd6",
        ),
    },
    "clobbers_x29": {
        "arm64": (
            "ldp x3,x4,[x1]\nldp x5,x6,[x1,16]\nldp x7,x8,[x2]\nldp x9,x10,[x2,16]\nadd x3,x3,x7\n"
            "add x4,x4,x8\nadd x5,x5,x9\nadd x6,x6,x10\nstp x3,x4,[x0]\nstp x5,x6,[x0,16]\n"
            "mov x29,x3\nret\n",
            "231040a9251841a9472040a9492841a96300078b8400088ba500098bc6000a8b031000a9051801a9fd0303aac0035fd6",
        ),
    },
}


def code(name: str, target: str) -> bytes:
    """The bytes of a routine."""
    return bytes.fromhex(ROUTINES[name][target][1])
