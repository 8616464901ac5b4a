"""Better decisions for kernels: what candidates cost, and the search over them."""
