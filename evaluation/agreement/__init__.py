"""Two judges of the same passages: kappa, and the order of strategies that each implies."""
