"""Constants of this folder: unit, meaning and source of each number."""

MIN_LOSS = 0.02  # share of the usual step time: smallest loss, own work, and error that count; healthy medians vary by 1 %
MIN_EXPLAINED = 0.5  # share of delays, of an excess, or of what is compared: the majority, more than all other causes together
EXAMINED = 6  # spans of slow steps per window, candidates that are replayed, losses in a finding: the clearest first
FEWER = 0.12  # share of new delays that a larger candidate (host, switch) must explain in addition to a smaller one
DOUBT = 0.1  # share of new delays: a candidate that explains this much less is e times less likely; largest doubt against peers
SLOWED = 0.2  # share of the worst lane's loss per octet: a lane that loses this much counts as slowed
SAVED = 0.3  # share of a step's loss: if its slowest lane explains this much, longer transfers explain all of it
TIED_PROBABILITY = 0.3  # of the second candidate: from here on the finding names both, because records do not decide
TIMES = 4.0  # ratio to usual: largest slowdown of own work that may explain a delay; the simulated ones are up to 3
LEAST = 0.1  # least weight of a delay if no own work is visible: work may overlap transfers
RARE = 0.05  # number of such spans by chance, share of far longer steps, and probability of a host, that are accepted
SIGMAS = 6.0  # robust standard deviations: least deviation of a span of slow steps
ALWAYS = 0.8  # share of steps, lanes or delays that is nearly all: one in five is an exception
WORTH = 0.05  # share of a step: least cost that is reported, twice as much for uneven work; less is hidden by bubbles and noise
CLEAR = 4.0  # ratio to usual values, or robust standard deviations, that shows a difference
LEAST_PACKETS = 10  # lost packets: fewer are by chance
CERTAIN = 0.5  # confidence: a claim below it becomes information
CRITICAL = 1.5  # slowdown: from here on the finding is critical
BEST = 64  # candidates that get a probability; later ones explain nothing
SLOW_LANE = 0.26  # natural logarithm: lanes that lose this much of their rate (1.3 times) are slow; healthy ones vary by 0.1
HALF_SPEED = 2.0  # ratio to the rate of peers: a NIC or its bus at half speed or less is broken, whether it costs time or not
MEASURED = 10.0  # odds ratio for a part of the network that lanes' rates, or queues, show directly
LESS = 0.9  # factor on the confidence if a replay without new delays misses usual steps by MIN_LOSS: the graph is incomplete
MOST_SCORE = 999.0  # largest score in reports
UNEVEN = 0.15  # share of the usual work: least excess of a stage, or spread over micro-batches or steps; healthy ones reach 0.1
DRAWS = 50  # replays with drawn micro-batches; their mean varies by less than a hundredth
