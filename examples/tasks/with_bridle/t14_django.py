"""A synchronous Django view."""

import json

import django
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.test import Client
from django.urls import path

from bridle import Agent, ScriptedModel

agent = Agent(model=ScriptedModel(["Hello."]))


def ask(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"answer": agent.run_sync(json.loads(request.body)["prompt"]).output})


urlpatterns = [path("ask", ask)]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["testserver"])
django.setup()
answer = Client().post("/ask", {"prompt": "Hi"}, content_type="application/json")
assert json.loads(answer.content) == {"answer": "Hello."}
