"""Searches for better orders of routines: `asmgen optimize`."""
