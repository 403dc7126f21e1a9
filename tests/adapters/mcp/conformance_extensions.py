"""Two extensions of the protocol as the conformance suite tests them: tasks, and skills."""

import hashlib
import itertools
import time
from datetime import UTC, datetime

import mcp_types as types
from conformance_tools import (
    MISSING_CAPABILITY,
    answers_of,
    capabilities_of,
    form,
    input_required,
    said,
)
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict

TASKS, SKILLS = "io.modelcontextprotocol/tasks", "io.modelcontextprotocol/skills"
HEADER_MISMATCH = -32020
DONE = ("completed", "failed", "cancelled")


class AnyParams(types.RequestParams):
    """Parameters that the extension's own handlers read."""

    model_config = ConfigDict(extra="allow")


# ---- tasks ----


tasks = {}
numbers = itertools.count(1)


class Task:
    """One piece of work: it is done when its time is over and nothing is asked any more."""

    def __init__(self, lasts_s, end, questions=()):
        self.id = f"task-{next(numbers)}-{time.time_ns():x}"
        self.made_at, self.lasts_s, self.end = time.time(), lasts_s, end
        self.questions = dict(questions)
        self.cancelled = False
        tasks[self.id] = self

    @property
    def status(self):
        if self.cancelled:
            return "cancelled"
        if self.questions:
            return "input_required"
        return "working" if time.time() < self.made_at + self.lasts_s else next(iter(self.end))

    def told(self):
        """The task without what has come of it."""
        made = datetime.fromtimestamp(self.made_at, UTC).isoformat()
        return {
            "taskId": self.id,
            "status": self.status,
            "createdAt": made,
            "lastUpdatedAt": made,
            "ttlMs": 600_000,
            "pollIntervalMs": 100,
        }

    def detailed(self):
        """The task with its result, its error or its questions."""
        made = {"resultType": "complete", **self.told()}
        if made["status"] == "input_required":
            made["inputRequests"] = dict(self.questions)
        elif made["status"] in self.end:
            word = "result" if made["status"] == "completed" else "error"
            made[word] = self.end[made["status"]]
        return made


def has_tasks(ctx):
    return TASKS in (capabilities_of(ctx).get("extensions") or {})


def begun(ctx, task, *, required=False):
    """A task for a client that knows tasks; for another the result itself, or a refusal."""
    if has_tasks(ctx):
        return {"resultType": "task", **task.told()}
    if required:
        data = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(code=MISSING_CAPABILITY, message="This tool needs tasks.", data=data)
    return task.end["completed"]


def greet(ctx, arguments):
    return said(f"Hello, {arguments['name']}!")


def slow_compute(ctx, arguments):
    seconds = arguments.get("seconds", 0)
    return begun(ctx, Task(seconds, {"completed": said(f"Computed for {seconds} s.")}))


def failing_job(ctx, arguments):
    return begun(ctx, Task(0.3, {"completed": {**said("The job failed."), "isError": True}}), required=True)


def protocol_error_job(ctx, arguments):
    error = {"code": types.INTERNAL_ERROR, "message": "The server broke."}
    return begun(ctx, Task(0.3, {"failed": error}), required=True)


def confirm_delete(ctx, arguments):
    question = form(f"Delete {arguments.get('filename')}?", confirm={"type": "boolean"})
    return begun(ctx, Task(0, {"completed": said("Deleted.")}, {"confirm-1": question}), required=True)


def multi_input(ctx, arguments):
    questions = {key: form(f"Who is {key}?", name={"type": "string"}) for key in ("first", "second")}
    return begun(ctx, Task(0, {"completed": said("Both have answered.")}, questions), required=True)


def tool_with_task(ctx, arguments):
    answer = answers_of(ctx).get("user_name")
    if not isinstance(answer, dict):
        return input_required({"user_name": form("What is your name?", name={"type": "string"})})
    name = (answer.get("content") or {}).get("name")
    return begun(ctx, Task(0.1, {"completed": said(f"Hello, {name}!")}), required=True)


NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SLOW = {"type": "object", "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}}}
NOTHING = {"type": "object", "properties": {}}
TOOLS = {
    "greet": (greet, NAMED),
    "slow_compute": (slow_compute, SLOW),
    "failing_job": (failing_job, NOTHING),
    "protocol_error_job": (protocol_error_job, NOTHING),
    "confirm_delete": (confirm_delete, {"type": "object", "properties": {"filename": {"type": "string"}}}),
    "multi_input": (multi_input, NOTHING),
    "test_tool_with_task": (tool_with_task, NOTHING),
}


def task_of(ctx):
    params = ctx.params or {}
    if not has_tasks(ctx):
        data = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(code=MISSING_CAPABILITY, message="Tasks were not negotiated.", data=data)
    id = params.get("taskId")
    header = None if ctx.request is None else ctx.request.headers.get("mcp-name")
    if ctx.request is not None and header != id:
        raise MCPError(code=HEADER_MISMATCH, message="The header Mcp-Name is not the task's id.")
    task = tasks.get(id)
    if task is None:
        raise MCPError(code=types.INVALID_PARAMS, message="There is no such task.")
    return task


async def get_task(ctx, params):
    return task_of(ctx).detailed()


async def cancel_task(ctx, params):
    task = task_of(ctx)
    task.cancelled = task.cancelled or task.status not in DONE
    return {"resultType": "complete"}


async def update_task(ctx, params):
    task = task_of(ctx)
    for key in (ctx.params or {}).get("inputResponses") or {}:
        task.questions.pop(key, None)
    return {"resultType": "complete"}


# ---- skills ----

FOLDER = "skill://greeting"
FRONT = {"name": "greeting", "description": "How to greet people."}
FILES = {
    f"{FOLDER}/SKILL.md": "---\nname: greeting\ndescription: How to greet people.\n---\n\nSay hello.\n",
    f"{FOLDER}/references/words.md": "Hello, hi, good morning.\n",
}
FRESH = {"ttlMs": 60_000, "cacheScope": "public"}
RESOURCES = [
    {"uri": f"{FOLDER}/SKILL.md", "mimeType": "text/markdown", **FRONT},
    {
        "uri": f"{FOLDER}/references/words.md",
        "name": "words.md",
        "description": "Words.",
        "mimeType": "text/markdown",
    },
]


def skill():
    files = [
        {
            "uri": uri,
            "digest": f"sha256:{hashlib.sha256(words.encode()).hexdigest()}",
            "size": len(words.encode()),
        }
        for uri, words in FILES.items()
    ]
    return {"uri": f"{FOLDER}/SKILL.md", "frontmatter": FRONT, "resources": files}


async def list_skills(ctx, params):
    return {"skills": [skill()], **FRESH}


async def get_skill(ctx, params):
    if (ctx.params or {}).get("uri") != f"{FOLDER}/SKILL.md":
        raise MCPError(code=types.INVALID_PARAMS, message="There is no such skill.")
    return {"skill": skill(), **skill(), **FRESH}


async def read_directory(ctx, params):
    uri = str((ctx.params or {}).get("uri")).removesuffix("/")
    if uri == FOLDER:
        folder = {"uri": f"{FOLDER}/references", "name": "references", "mimeType": "inode/directory"}
        return {"resources": [RESOURCES[0], folder]}
    if uri == f"{FOLDER}/references":
        return {"resources": [RESOURCES[1]]}
    raise MCPError(code=types.INVALID_PARAMS, message="This is no directory.")


METHODS = {
    "tasks/get": get_task,
    "tasks/cancel": cancel_task,
    "tasks/update": update_task,
    "skills/list": list_skills,
    "skills/get": get_skill,
    "resources/directory/read": read_directory,
}
