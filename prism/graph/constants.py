"""Every number of this folder that is not arithmetic, with its unit, what it means and where it comes from."""

WHOLE = 0.02  # of a step: by so much a lane's records may miss a whole number of equal steps; a lost or doubled record is more
NEAR = 0.1  # of a transfer: so far from its ends its times are compared, for records are cut a little differently in each step
MODEL = 0.2  # share of the steps, the shortest, that say what is usual: a fault that lasts for up to three in four moves none
FEW = 2  # steps at least that say what is usual
FAR = 1.2  # times as long: steps that are so much slower are slow, whatever is usual; half of that (in logarithms) are alike
PEERS = 3  # lanes at least that move alike, to say what is usual among them: of two nobody knows which is slow
ALIKE = 0.05  # of the logarithm of what lanes move per step: peers differ by no more
CLOSE = 0.01  # of the logarithm of durations: steps so close to usual ones are usual, too; medians of healthy steps vary so
SOON = 0.0005  # of a step: what begins so soon after something is at once with it
MANY = 16  # steps at most that say what is usual: their median is known well enough, and each is a look at every transfer
CROWD = 24  # peers that are compared at once at most
