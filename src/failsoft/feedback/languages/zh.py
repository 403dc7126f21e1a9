"""Chinese (simplified). Tool names, field names and values stay as they are."""

from __future__ import annotations

from failsoft.feedback.languages import Language

__all__ = ["CHINESE"]

_TITLES = {
    "invalid_argument": "参数不符合该工具的要求。",
    "unknown_tool": "没有这个名称的工具。",
    "not_found": "所请求的对象不存在。",
    "conflict": "当前状态不允许此操作。",
    "permission_denied": "请求被拒绝。",
    "quota_exhausted": "配额已用完。",
    "rate_limited": "短时间内调用过多。",
    "overloaded": "同时运行的调用过多。",
    "unavailable": "服务暂时无法响应。",
    "network": "连接失败。",
    "timeout": "在规定时间内没有得到答复。",
    "circuit_open": "该工具暂时不可用。",
    "invalid_output": "返回内容不符合约定的格式。",
    "model_error": "模型没有给出可用的回答。",
    "internal": "工具自身出错，且没有说明原因。",
    "budget_exhausted": "本次运行已达到上限。",
    "in_doubt": "先前一次相同的调用可能已经生效。",
    "cancelled": "调用已取消。",
    "unknown": "工具执行失败，且没有说明原因。",
}

_ADVICE = {
    "invalid_argument": "没有执行任何操作。请改正参数后再调用。",
    "invalid_argument/truncated": "参数被截断，没有执行任何操作。请缩短内容，或分几次完成。",
    "invalid_argument/bad_json": "没有执行任何操作。请以一个 JSON 对象重新发送参数。",
    "invalid_argument/not_an_object": "没有执行任何操作。请发送一个以参数名为键的 JSON 对象。",
    "invalid_argument/ambiguous": "没有执行任何操作。请只发送一个 JSON 对象，且每个键只出现一次。",
    "invalid_argument/too_large": "没有执行任何操作。请减少内容，或分几次完成。",
    "invalid_argument/too_deep": "没有执行任何操作。请发送嵌套较浅的对象。",
    "unknown_tool": "没有执行任何操作。只能按准确名称调用可用的工具。",
    "not_found": "请核对名称或编号，或先查找。",
    "conflict": "再次调用前，请先查看当前状态。",
    "conflict/already_running": "相同的调用仍在运行，没有启动第二次。请稍后再问。",
    "permission_denied": "同样的调用仍会被拒绝。请换一种方法，或告知用户。",
    "permission_denied/refused": "审批人已拒绝。请换一种方法，或询问用户。",
    "permission_denied/approval_unanswered": "审批请求无人答复。请询问用户。",
    "permission_denied/approval_required": "此操作须由人批准，而这里无人可问。请告知用户。",
    "permission_denied/human_only": "此操作只能由人完成。请告知用户。",
    "quota_exhausted": "短时间等待没有用。请换一种方法，或告知用户。",
    "rate_limited": "等待一段时间后可以再次调用。",
    "overloaded": "没有执行任何操作。稍后可以再次调用，并减少同时调用的数量。",
    "unavailable": "稍后可能恢复。现在可以尝试其他方法。",
    "network": "稍后可能恢复。现在可以尝试其他方法。",
    "network/certificate_invalid": "证书未被接受，同样的调用仍会失败。请告知用户。",
    "timeout": "减少请求的内容可能更快。稍后可能恢复。",
    "circuit_open": "该工具多次失败，暂时不可用；没有执行任何操作。",
    "invalid_output": "该回答无法使用，问题已列出。请按要求的格式重新回答。",
    "model_error": "同样的请求仍会失败。请换一种问法。",
    "model_error/context_overflow": "对话过长，超出模型上限。请缩短。",
    "internal": "换用其他参数可能有效；否则请换一种方法，或告知用户。",
    "budget_exhausted": "不再执行任何调用。请用已知信息作答，并说明还缺少什么。",
    "in_doubt": "这次没有执行任何操作。请先查明先前的调用是否已生效。",
    "in_doubt/human": "这次没有执行任何操作。先前的调用是否已生效须由人确认。请告知用户。",
    "cancelled": "调用是被主动停止的。",
    "unknown": "换用其他参数可能有效；否则请换一种方法，或告知用户。",
}

_EFFECTS = {
    "possible": "操作可能已经生效。重复之前请先核实，否则可能执行两次。",
    "none": "没有产生任何变更。",
    "possible_repeatable": "操作可能已经生效；重复调用没有害处。",
    "possible_earlier": "这可能是先前一次尝试造成的。重复之前请先查看当前状态。",
    "done": "操作已经生效，只是返回内容无法使用。请勿重复调用。",
    "done_read_only": "工具已运行，但返回内容无法使用。同样的调用可能得到同样的结果。",
}

_PHRASES = {
    "again_after": ("{n} 秒后可能恢复。", "{n} 秒后可能恢复。"),
    "other_tools": ("同类的其他工具：{names}。", "同类的其他工具：{names}。"),
    "known": ("已知情况：{text}", "已知情况：{text}"),
    "partial": ("失败之前已返回：{text}", "失败之前已返回：{text}"),
    "tried": ("已尝试 {n} 次。", "已尝试 {n} 次。"),
    "more_problems": ("（另有 {n} 个问题未列出。）", "（另有 {n} 个问题未列出。）"),
    "more_tools": ("（另有 {n} 个工具未列出。）", "（另有 {n} 个工具未列出。）"),
    "more_options": ("（另有 {n} 个选项未列出。）", "（另有 {n} 个选项未列出。）"),
    "more_names": ("（另有 {n} 个名称未列出。）", "（另有 {n} 个名称未列出。）"),
    "failed": ("{tool} 失败：{kind}。", "{tool} 失败：{kind}。"),
    "tool": ("调用", "调用"),
    "expected": ("应为 {text}", "应为 {text}"),
    "got": ("收到 {text}", "收到 {text}"),
    "did_you_mean": ("相近的名称：{names}。", "相近的名称：{names}。"),
    "available_tools": ("可用的工具：{names}。", "可用的工具：{names}。"),
    "options": ("现在可以：{names}。", "现在可以：{names}。"),
    "doubt": ("存疑编号：{text}。", "存疑编号：{text}。"),
    "arguments": ("参数：{text}。", "参数：{text}。"),
}

CHINESE = Language(
    titles=_TITLES,
    advice=_ADVICE,
    effects=_EFFECTS,
    phrases=_PHRASES,
    title_first=True,
    separator="、",
    join="",
)
