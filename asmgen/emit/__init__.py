"""Text from finished routines and word programs: assembly, header, C, and what all of them say about a kernel."""
