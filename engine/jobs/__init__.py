"""Work that goes on while a page is left: in threads and in other processes."""
