"""The memory of this process: a limit with a clear error, an allocator that keeps freed memory, arrays on large pages."""
