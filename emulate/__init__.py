"""Runs generated machine code without the hardware and compares it with Python integers."""
