"""Constants of this folder: unit, meaning and source of each number."""

MIN_LOSS = 0.02  # share of the usual step time: smallest loss, and shortest own work, that counts; healthy medians vary by 1 %
MIN_EXPLAINED = 0.5  # share of new delays that a candidate must explain; below it, most delays have another cause
FEWER = 0.12  # share of new delays that a larger candidate (host, switch) must explain in addition to a smaller one
DOUBT = 0.1  # share of new delays: a candidate that explains this much less is e times less likely
MOST = 6  # spans of slow steps that are examined per window, the clearest first
SLOWED = 0.2  # share of the worst lane's loss per octet: a lane that loses this much counts as slowed
SAVED = 0.3  # share of the lost time that slow steps must save in a replay without the cause
TIED_PROBABILITY = (
    0.3  # probability of the second candidate: from here on the finding names both, the records cannot distinguish them
)
TIMES = 4.0  # ratio to usual: largest slowdown of own work that may explain a delay; the simulated ones are up to 3
LEAST = 0.1  # least weight of a delay if no own work is visible: work may overlap transfers
STALL = 1.0  # usual steps: smallest excess of a single slow step that is reported; slow steps usually come in spans
STALL_NS = 1e9  # ns: as STALL where steps are longer; shorter stops, as to collect garbage, are hiccups
GROWN = 0.1  # share of the usual step time: as MIN_LOSS, for comparisons with peers
REPLAYED_CANDIDATES = 6  # candidates that are replayed: those that explain most
RARE = 0.05  # accepted number of such spans by chance per window; accepted share of far longer steps
SIGMAS = 6.0  # robust standard deviations: least deviation of a span of slow steps
OFTEN = 0.8  # share of a span's steps whose delay is at least half of the span's; rejects single hiccups
ALWAYS = 0.8  # stricter MIN_EXPLAINED, and least probability, where little is compared: peers, one step, two candidates
WORTH = 0.05  # share of a step: least cost of a cause that is reported; less is hidden by pipeline bubbles and noise
HIGH = 0.9  # quantile over steps that stands for their longest delays
CLEAR = 4.0  # ratio to these, or robust standard deviations: least delay of a cause, or least loss of its steps
NEARLY = 0.1  # share of new delays: a candidate within this distance of the best one may be the cause
CERTAIN = 0.5  # confidence: a claim below it becomes information
CRITICAL = 1.5  # slowdown: from here on the finding is critical
LISTED = 5  # candidates that a finding lists
BEST = 64  # candidates that get a probability; later ones explain nothing
LOSSY = 4.0  # ratio of retransmission shares, affected over other lanes, that shows loss; healthy jobs retransmit some packets
SLOW_LANE = 0.26  # natural logarithm: lanes that lose this much of their rate (1.3 times) are slow; healthy ones vary by 0.1
MEASURED = 10.0  # odds ratio for a part of the network that lanes' rates, or queues, show directly
ROUGH = 0.02  # share of a usual step: largest error of a replay without new delays
LESS = 0.9  # factor on the confidence if this error is larger: the graph is incomplete
UNLIKELY = 0.05  # probability: hosts below it are listed as candidates only, not in the isolation
LEAST_STEPS = 3  # steps: two do not show which one is unusual
MOST_SCORE = 999.0  # largest score in reports
PLACES = 8  # parts of a lane's octets per step: delays in the same part recur; a step has a few rounds of own work
UNEVEN = 0.15  # share of the usual work: least excess of a stage, or spread over micro-batches; healthy ones reach 0.1
ALONE = 0.7  # share of the heavy stage's excess: if another stage exceeds the median by more, several are heavy by design
DRAWS = 50  # replays with drawn micro-batches; their mean varies by less than a hundredth
SELDOM = 0.25  # share of the steps: if more begin after a long silence, it is usual for the job
NOISE = 0.1  # natural logarithm: spread of own work from step to step on noisy machines; healthy real jobs reach it
