"""Language models as judges of answers: what they are asked, how sure one can be of them, and what their errors cost.

A judge's share of right answers is no share of right answers: it is biased by the judge's own errors. So every rate
stands beside the judge's agreement with itself, with hand labels, and beside rates that are corrected by these.
"""
