"""Flow records that switches export by UDP, and the evidence beside them."""
