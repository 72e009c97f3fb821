"""Every number of this folder that is not arithmetic, with its unit, what it means and where it comes from."""

LOST = 0.02  # of a step's usual time: what is lost at least; steps of healthy jobs vary by about 1 % from median to median
ENOUGH = 0.5  # of the new delays of slow steps: what a candidate touches at least; below, most came from elsewhere
FEWER = 0.12  # of them: by so much a larger candidate (host, switch) must touch more than a smaller one to be told
DOUBT = 0.1  # of the new delays: who touches so much less is e times less likely
MOST = 6  # stretches of a window that are looked at
SLOWED = 0.2  # of what the worst lane of a candidate loses per octet: a lane that loses as much is slowed, too
SAVED = 0.3  # of what slow steps lost: what they would have saved without a candidate at least, if it is to be the cause
TIED = 0.3  # probability of the second candidate: from here on one of two is told, for nothing tells which
TIMES = 10.0  # times as long as usual: what own work is slowed at most, so that a delay may be its
LEAST = 0.1  # what a delay counts at least where nobody is seen to work: work goes on under transfers, too
ALWAYS = 0.82  # as ENOUGH, against peers, and how sure at least: these differ in their places in rings and trees, too
GROWN = 0.1  # as LOST, against peers
MANY = 6  # candidates that are replayed, those that touch most
RARE = 0.05  # how often chance may make a stretch like it in a window
SIGMAS = 6.0  # robust sigmas by which a stretch stands out at least
OFTEN = 0.8  # of the steps of a stretch: in so many the delay is at least half as long; hiccups come now and then
WORTH = 0.05  # of a step: what work that takes longer must cost to be told; less hides in bubbles and noise
HIGH = 0.9  # quantile of the steps: delays are seldom longer in them
CLEAR = 4.0  # times these, or sigmas: what delays of a cause, or what steps lose by it, are at least
NEARLY = 0.1  # of the new delays: a candidate that explains so nearly as much as the best may be it
CERTAIN = 0.5  # confidence: a claim of less is information
CRITICAL = 1.5  # times as long as they would take: steps so slow need somebody at once
TOLD = 5  # candidates that a finding lists
BEST = 64  # candidates whose probabilities are told apart; those that follow explain nothing
