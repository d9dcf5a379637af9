"""A Django project in one file, with a synchronous view. Plays a script: no key is needed.

python examples/web/django_view.py runserver
curl localhost:8000/ask -d "prompt=Hello"
"""

import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from bridle import Agent, Limits, ScriptedModel

# One agent for the process: threads, reloads and forked workers may all use it.
agent = Agent(
    "helpdesk",
    model=ScriptedModel(["Hello! How can I help?", "You are welcome."]),
    limits=Limits(steps=5, seconds=30),
    journal=os.environ.get("JOURNAL", "helpdesk.db"),
)


@csrf_exempt
@require_POST
def ask(request: HttpRequest) -> JsonResponse:
    # An asynchronous view awaits `agent.run` instead.
    result = agent.run_sync(request.POST["prompt"], session=request.POST.get("session"))
    return JsonResponse({"answer": result.text, "reason": result.reason, "session": result.session})


urlpatterns = [path("ask", ask)]

if not settings.configured:
    settings.configure(DEBUG=True, ROOT_URLCONF=__name__, ALLOWED_HOSTS=["localhost", "127.0.0.1"])

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
