"""The analysis on several cores or machines: parts of a cluster that share no endpoint go to any executor."""
