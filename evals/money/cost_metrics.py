"""What the columns about money mean; a part of `evals.metrics`."""

from typing import Final

from evals.results import Metric

COST_METRICS: Final = (
    Metric(
        "saved_usd",
        "Saved",
        "USD",
        "higher",
        "Dollars of all requests without compaction, minus those with it; the strategy's own model "
        "calls are in it. At the prices of the priced model, from an empty cache on, with the "
        "recorded answers. Each request is split into tokens read from the provider's cache, "
        "written to it, and neither; the tier is chosen by its whole input. A message that changed "
        "anywhere is not read. Cached prompts expire by the recorded times; without times they do "
        "not. Where the log shows that the client was started again, or that Claude was told to "
        "think more or less, no message is read that was cached before; where a model is no longer "
        "shown the reasoning of a turn once the user speaks again, none from there on. Nothing is "
        "fetched again (recovery probability 0). It is what would have been paid then: where the "
        "log of the priced model shows that a request read less than nine tenths of the one "
        "before, no more is read there with compaction or without; and where it shows that more "
        "was read than the rule gives, what was sent with the request before is still there. Views "
        "that were left for another expire all the same: the log tells nothing of them. Such "
        "losses make long prompts dear, so they change what compaction saves: see saved by rule.",
    ),
    Metric(
        "saved_usd_fraction",
        "Saved dollars",
        "share of dollars",
        "higher",
        "Saved dollars, of those without compaction; over the requests of all transcripts with a "
        "price together. A few long transcripts can hide that it costs more on most others.",
    ),
    Metric(
        "dearer",
        "Dearer on",
        "transcripts",
        "lower",
        "Of the transcripts with a price and a request, those on which the setting costs more "
        "dollars than no compaction.",
    ),
    Metric(
        "saved_by_rule_usd",
        "Saved by rule",
        "USD",
        "higher",
        "Saved dollars by the caching rule alone, with compaction and without: nothing is looked "
        "at of what the log says of its cache. Tables show it as a share of the dollars without "
        "compaction by the same rule, where a log lost more than 5 % of what was paid or the two "
        "shares of a setting differ by more than 2 points.",
    ),
    Metric(
        "net_saved_usd_p50",
        "Saved, half fetched",
        "USD",
        "higher",
        "Saved dollars if, of what is needed over a long gap and not shown (recoverable, "
        "regenerable, lost, not declared), the agent gets half again: recovery probability 0.5. "
        "Each retrieval is a request of its own: the whole prompt read from the cache, the call "
        "that first brought the message as output, and both as new input. What was fetched "
        "is read with every later request, and not fetched again, until the view next changes; "
        "what two needs have in one message is fetched once. Tables show it as a share of the "
        "dollars without compaction.",
    ),
    Metric(
        "net_saved_usd_p100",
        "Saved, all fetched",
        "USD",
        "higher",
        "As before with recovery probability 1.",
    ),
    Metric(
        "retrievals",
        "Retrievals",
        "requests",
        "lower",
        "Requests it would take to fetch all of that.",
    ),
    Metric(
        "own_calls_usd",
        "Own calls",
        "USD",
        "lower",
        "What the strategy's own model calls cost, none of their prompts cached. Tokens as "
        "reported, else as counted; a long prompt is measured by the messages that it retells. The "
        "extractive summariser stands in for a model and is priced as the model would be. Calls "
        "that a user's own code makes by itself are not seen.",
    ),
    Metric(
        "priced_model",
        "Priced as",
        "model",
        "neither",
        "The model whose prices and caching rule are used for all requests of a transcript: the "
        "one that was asked for, else that of the transcript, else a stated default; "
        "`price_basis` says which. All prices are in `prices` of `run.json`.",
    ),
    Metric(
        "bill_error_fraction",
        "Bill error",
        "share of recorded dollars",
        "neither",
        "How far the simulated bill without compaction is from the recorded usage at the same "
        "prices; above zero it is dearer. Over all requests with usage whose model has a price, "
        "each at the prices and with a cache of its own model. Where a log shows that the cache "
        "was lost for a reason of its own (a request read less than nine tenths of the one before)"
        ", it is lost in the replay too. Here and in the error by rule, nowhere else, the first "
        "request may read what it read in the log, out of the cache of an earlier conversation. "
        "Caching that the client did not ask for is part of the error. Where a log nowhere tells "
        "what was cached, its own costs are taken; without these there is no error.",
    ),
    Metric(
        "bill_rule_error_fraction",
        "Bill error by rule",
        "share of recorded dollars",
        "neither",
        "The same by the provider's caching rule alone, with nothing of what the log says of its "
        "cache but what the first request read.",
    ),
    Metric(
        "bill_shown_error_fraction",
        "Bill error as in the tables",
        "share of recorded dollars",
        "neither",
        "The same of the dollars that tables show, for these requests: from an empty cache on, and "
        "with those of other models at the prices, and in the cache, of the priced one.",
    ),
    Metric(
        "bill_lost_fraction",
        "Lost in its lifetime",
        "share of recorded dollars",
        "neither",
        "What it cost that requests read less than the caching rule says, as the log shows: the "
        "prompt began as the one before and was within its stated lifetime, and no restart or "
        "change of thinking is logged. A provider's routing and load, or a client that changed "
        "what the log does not hold. By so much the bill by the rule alone is too low.",
    ),
    Metric(
        "bill_requests",
        "Bill covers",
        "requests",
        "higher",
        "Requests of which the log tells what they cost: with usage, and of a model with a price.",
    ),
    Metric(
        "bill_covered_fraction",
        "Bill covers",
        "share of dollars",
        "higher",
        "Their simulated dollars, of those of all requests of the transcript.",
    ),
    Metric(
        "counted_outputs",
        "Outputs counted",
        "requests",
        "lower",
        "Requests whose output is priced by the tokens of the answer that the log holds (measuring "
        "counter, calibrated): no number was recorded, or less than half of what the answer counts,"
        " as where the usage of a stream's start was logged. Recorded and simulated bill alike.",
    ),
    Metric(
        "cache_hit_fraction",
        "Cache hits",
        "share of input tokens",
        "higher",
        "Input tokens read from the provider's cache, of all input tokens, with the strategy; "
        "its own model calls aside. Uncompacted: the same of the requests as recorded.",
    ),
    Metric(
        "cache_breaks",
        "Cache breaks",
        "requests",
        "lower",
        "Requests whose view does not begin with the view of the request before.",
    ),
    Metric(
        "rewritten_tokens",
        "Rewritten",
        "tokens",
        "lower",
        "Tokens sent that are neither new since the request before nor read from the cache, "
        "because the strategy changed something in front of them or wrote them anew; at most as "
        "many as the cache still held and no longer gave back.",
    ),
    Metric(
        "break_even_requests",
        "Break-even",
        "requests",
        "lower",
        "After how many requests a compaction is repaid, the one that it was made for counted: (S "
        "(w - r) + A) / (R r), at least 0, with R tokens removed, S what the cache held and no "
        "longer gives, minus R, A the price of its model calls, r and w the prices of a token read "
        "and written. A compaction here is a cache break, or a request for which a model was "
        "called. The median over them; none without any, or if that one is never repaid.",
    ),
    Metric(
        "repaid_fraction",
        "Repaid",
        "share of compactions",
        "higher",
        "Compactions whose result was used for at least as many requests as their break-even, up "
        "to the next compaction or the end. None without any.",
    ),
    Metric(
        "retriggered_fraction",
        "Re-triggered",
        "share of compactions",
        "lower",
        "Compactions after which the very next request of the segment was compacted again: the "
        "view is still too large, or is changed all the time. None without any.",
    ),
    Metric(
        "absorbed_requests",
        "Absorbs",
        "requests per 1,000 tokens",
        "higher",
        "How many extra requests per 1,000 removed tokens would use up what was saved, at the "
        "mean price of a request as compacted, own calls included: how much worse the agent may "
        "work before compaction costs more than it saves. Each compaction counts what it removed "
        "once; none if nothing was removed.",
    ),
    Metric(
        "best_trigger_tokens",
        "Best trigger",
        "tokens",
        "neither",
        "The size at which summaries as dear and as short as these, in a conversation that grows "
        "as this one does, would cost least: s - g + sqrt(g^2 + 2 g A / r), with s the mean size "
        "after a summary, g the mean growth a request, A what a summary costs at once, with what "
        "it makes to be written again, and r the price of a token read. None without summaries "
        "by a model, or where reading is free.",
    ),
)
