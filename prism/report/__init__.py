"""A diagnosis as JSON, tables, Chrome trace and Kineto trace."""
