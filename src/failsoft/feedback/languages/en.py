"""English. Short sentences: the model pays for each word, and some views have 300 characters."""

from __future__ import annotations

from failsoft.feedback.languages import Language

__all__ = ["ENGLISH"]

_TITLES = {
    "invalid_argument": "The arguments do not fit the tool.",
    "unknown_tool": "There is no tool of this name.",
    "not_found": "The thing asked for does not exist.",
    "conflict": "The present state does not allow this.",
    "permission_denied": "This was refused.",
    "quota_exhausted": "The quota is used up.",
    "rate_limited": "Too many calls in a short time.",
    "overloaded": "Too many calls are running.",
    "unavailable": "The service cannot answer now.",
    "network": "The connection failed.",
    "timeout": "There was no answer in time.",
    "circuit_open": "The tool is temporarily unavailable.",
    "invalid_output": "The answer does not have the agreed form.",
    "model_error": "The model gave no usable answer.",
    "internal": "The tool failed from a fault of its own, without saying why.",
    "budget_exhausted": "A limit of this run is reached.",
    "in_doubt": "An earlier identical call may have happened.",
    "cancelled": "The call was cancelled.",
    "unknown": "The tool failed without saying why.",
}

_ADVICE = {
    "invalid_argument": "Nothing was run. Correct the arguments, then call again.",
    "invalid_argument/truncated": "The arguments were cut off; nothing was run. Send less, or split the work.",
    "invalid_argument/bad_json": "Nothing was run. Send the arguments again as one JSON object.",
    "invalid_argument/not_an_object": "Nothing was run. Send one JSON object whose keys are the parameter names.",
    "invalid_argument/ambiguous": "Nothing was run. Send exactly one JSON object in which every key occurs once.",
    "invalid_argument/too_large": "Nothing was run. Send less at once, or split the work.",
    "invalid_argument/too_deep": "Nothing was run. Send a flatter object.",
    "unknown_tool": "Nothing was run. Only the available tools can be called, by their exact names.",
    "not_found": "Check the name or id, or look for it first.",
    "conflict": "Look at the present state before calling again.",
    "conflict/already_running": "The same call is still running; a second one was not begun. Ask later.",
    "permission_denied": "The same call will be refused again. Find another way, or tell the user.",
    "permission_denied/refused": "A person said no. Find another way, or ask the user.",
    "permission_denied/approval_unanswered": "Nobody answered the request for approval. Ask the user.",
    "permission_denied/approval_required": "A person must approve this, and nobody can be asked here. Tell the user.",
    "permission_denied/human_only": "Only a person can do this. Tell the user.",
    "quota_exhausted": "Waiting a little does not help. Find another way, or tell the user.",
    "rate_limited": "It can be called again after a wait.",
    "overloaded": "Nothing was run. It can be called again later, with fewer calls at once.",
    "unavailable": "It may work later. Another way may work now.",
    "network": "It may work later. Another way may work now.",
    "network/certificate_invalid": "The certificate was not accepted; the same call will fail again. Tell the user.",
    "timeout": "Asking for less may be quicker. It may work later.",
    "circuit_open": "It failed repeatedly and is temporarily unavailable; nothing was run.",
    "invalid_output": "The answer cannot be used; the problems are listed. Answer again in the form asked for.",
    "model_error": "The same request will end the same way. Ask in another way.",
    "model_error/context_overflow": "The conversation is too long for the model. Shorten it.",
    "internal": "Other arguments may work. Otherwise find another way, or tell the user.",
    "budget_exhausted": "No more calls are run. Finish with what is known, and say what is missing.",
    "in_doubt": "Nothing was run now. Find out whether the earlier call happened before anything else.",
    "in_doubt/human": "Nothing was run now. A person must say whether the earlier call happened. Tell the user.",
    "cancelled": "It was stopped on purpose.",
    "unknown": "Other arguments may work. Otherwise find another way, or tell the user.",
}

_EFFECTS = {
    "possible": "It may have happened. Check before repeating: it could happen twice.",
    "none": "Nothing was changed.",
    "possible_repeatable": "It may have happened; repeating it does no harm.",
    "possible_earlier": "An earlier attempt may have caused this. Check the present state before repeating.",
    "done": "It did happen; only its answer is unusable. Do not repeat it.",
    "done_read_only": "The tool ran, but its answer is unusable. The same call may end the same way.",
}

_PHRASES = {
    "again_after": ("It can work again in {n} second.", "It can work again in {n} seconds."),
    "other_tools": ("Another tool of the same kind: {names}.", "Other tools of the same kind: {names}."),
    "known": ("Known of it: {text}", "Known of it: {text}"),
    "partial": ("Before it failed it gave: {text}", "Before it failed it gave: {text}"),
    "tried": ("It was tried {n} time.", "It was tried {n} times."),
    "more_problems": ("({n} more problem is not listed.)", "({n} more problems are not listed.)"),
    "more_tools": ("({n} more tool is not listed.)", "({n} more tools are not listed.)"),
    "more_options": ("({n} more option is not listed.)", "({n} more options are not listed.)"),
    "more_names": ("({n} more name is not listed.)", "({n} more names are not listed.)"),
    "failed": ("{tool} failed: {kind}.", "{tool} failed: {kind}."),
    "tool": ("The call", "The call"),
    "expected": ("expected {text}", "expected {text}"),
    "got": ("got {text}", "got {text}"),
    "did_you_mean": ("Similar name: {names}.", "Similar names: {names}."),
    "available_tools": ("Available tool: {names}.", "Available tools: {names}."),
    "options": ("Possible now: {names}.", "Possible now: {names}."),
    "doubt": ("Doubt: {text}.", "Doubt: {text}."),
    "arguments": ("Arguments: {text}.", "Arguments: {text}."),
}

ENGLISH = Language(
    titles=_TITLES,
    advice=_ADVICE,
    effects=_EFFECTS,
    phrases=_PHRASES,
    title_first=False,
    separator=", ",
    join=" ",
)
