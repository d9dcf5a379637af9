"""Faults planted into the source one at a time: each breaks a row of docs/seeds.md, and the row's own test must see it.

`scripts/seeds` plants each fault into a copy of the source, runs the named test against that copy, and writes
docs/seed-faults.md. It exits with 1 if one is missed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from support.paths import ROOT

PAGE = ROOT / "docs" / "seed-faults.md"
PATIENCE_SECONDS = 60
ASSERTED = re.compile(r"^E\s+(assert\b|AssertionError|Failed: DID NOT RAISE)", re.MULTILINE)


class Fault(NamedTuple):
    """Which row is broken, where, and how: `before` occurs exactly once in the file. The test must then fail."""

    row: str
    path: str
    before: str
    after: str
    test: str


FAULTS = [
    Fault(
        "000.12",
        "src/bridle/core/limits.py",
        "return ceiling if steps is None",
        "return 25 if steps is None",
        "tests/turn/test_caps.py::test_a_cap_of_n_is_n_requests_of_which_the_last_cannot_act",
    ),
    Fault(
        "000.13",
        "src/bridle/config/agents.py",
        "given.max_steps, given.maxSteps, given.maxTurns}",
        "given.max_steps, given.maxTurns}",
        "tests/config/test_shapes.py::test_a_file_that_somebody_has_means_what_it_says",
    ),
    Fault(
        "000.15",
        "src/bridle/core/decide.py",
        "0 < cap <= number",
        "0 < cap < number",
        "tests/turn/test_caps.py::test_a_cap_of_n_is_n_requests_of_which_the_last_cannot_act",
    ),
    Fault(
        "000.17",
        "src/bridle/turn/closing.py",
        "    elif not answer:\n",
        '    elif not answer and reason != "step_cap":\n',
        "tests/turn/test_caps.py::test_the_defiant_call_is_refused_by_the_name_of_its_limit_and_bridle_writes_the_text",
    ),
    Fault(
        "000.20",
        "src/bridle/engine/step_log.py",
        "step {step.number}/{step.cap}",
        "step {step.number}",
        "tests/surfaces/cli/test_cli.py::test_a_log_says_each_step_and_each_ending",
    ),
    Fault(
        "000.21",
        "src/bridle/surfaces/cli/narrator.py",
        'self._say(f"■ {plain(text)}", always=not self.depth)',
        'self._say("")',
        "tests/surfaces/cli/test_cli.py::test_the_step_cap_shows_its_notice_and_its_sentinel_and_exits_3",
    ),
    Fault(
        "000.37",
        "src/bridle/config/check.py",
        'if value == 0 and not isinstance(value, bool) and name != "steps":',
        'if value == 0 and not isinstance(value, bool) and name == "":',
        "tests/config/test_load.py::test_an_error_names_the_file_the_key_and_the_way_out",
    ),
    Fault(
        "000.40",
        "src/bridle/assembly/limits.py",
        ".over(Limits(steps=agent.steps))",
        "",
        "tests/turn/test_trees.py::test_a_defiant_child_makes_as_many_requests_as_it_may_and_the_parent_is_told",
    ),
    Fault(
        "000.41",
        "src/bridle/turn/call_model.py",
        "if self.action.closing is None and not again:",
        "if not again:",
        "tests/turn/test_retry.py::test_a_closing_request_that_fails_leaves_the_text_to_bridle",
    ),
    Fault(
        "001.5",
        "src/bridle/core/limits.py",
        "MAX_STEPS = 200",
        "MAX_STEPS = 250",
        "tests/turn/test_caps.py::test_a_value_over_the_ceiling_is_clamped_with_a_notice",
    ),
    Fault(
        "001.12",
        "src/bridle/turn/call_model.py",
        "if refused and self.active.turn.cap == 0:",
        "if refused and self.active.turn.cap < 0:",
        "tests/turn/test_caps.py::test_steps_0_is_one_text_only_request_without_closing_or_sentinel",
    ),
    Fault(
        "001.32",
        "src/bridle/turn/run_calls.py",
        "            if left <= 0:",
        "            if left < 0:",
        "tests/turn/test_caps.py::test_of_five_parallel_calls_with_three_left_three_run",
    ),
    Fault(
        "001.42",
        "src/bridle/core/limits.py",
        '"tool budget exhausted"',
        '"step limit reached"',
        "tests/turn/test_caps.py::test_of_five_parallel_calls_with_three_left_three_run",
    ),
    Fault(
        "001.46",
        "src/bridle/turn/closing.py",
        'return Refusal("tools_off"), "not executed',
        'return Refusal("denied"), "not executed',
        "tests/turn/test_caps.py::test_steps_0_is_one_text_only_request_without_closing_or_sentinel",
    ),
    Fault(
        "001.47",
        "src/bridle/core/decide.py",
        'return _fitting(turn, CallModel(number, 1, "off"))',
        'return _fitting(turn, CallModel(number, 1, "offered"))',
        "tests/turn/test_caps.py::test_steps_0_is_one_text_only_request_without_closing_or_sentinel",
    ),
    Fault(
        "001.52",
        "src/bridle/core/decide.py",
        'return Finish("synthesized")',
        'return Finish("answered")',
        "tests/turn/test_synthesis.py::test_a_marked_batch_is_synthesised_and_ends_the_turn",
    ),
    Fault(
        "001.55",
        "src/bridle/turn/closing.py",
        '    spoken = spoken or reason == "synthesized"\n',
        "",
        "tests/turn/test_synthesis.py::test_a_marked_batch_is_synthesised_and_ends_the_turn",
    ),
    Fault(
        "001.71",
        "src/bridle/core/limits.py",
        "getattr(spent, name) >= end:",
        "getattr(spent, name) > end:",
        "tests/turn/test_reasons.py::test_each_reason_has_its_exit_status_its_sentinel_and_its_text",
    ),
    Fault(
        "001.75",
        "src/bridle/turn/closing.py",
        "if reason not in QUIET:",
        'if reason not in (*QUIET, "tool_budget"):',
        "tests/turn/test_caps.py::test_of_five_parallel_calls_with_three_left_three_run",
    ),
    Fault(
        "001.78",
        "src/bridle/core/turn.py",
        'return self.state == "finished" and not self.calls and',
        'return self.state == "finished" and',
        "tests/turn/test_streams.py::test_calls_decide_whether_a_turn_goes_on_not_the_finish_word",
    ),
    Fault(
        "002.15",
        "src/bridle/core/fold.py",
        "session.turn = OpenTurn(part)",
        "session.turn = session.turn or OpenTurn(part)",
        "tests/turn/test_caps.py::test_a_capped_session_goes_on_with_the_next_prompt",
    ),
    Fault(
        "002.41",
        "src/bridle/turn/call_model.py",
        'refused_call(self.action.closing) if self.action.tools == "off" else None',
        'refused_call(self.action.closing) if self.action.tools == "none" else None',
        "tests/turn/test_caps.py::test_the_defiant_call_is_refused_by_the_name_of_its_limit_and_bridle_writes_the_text",
    ),
    Fault(
        "002.46",
        "src/bridle/core/limits.py",
        "WARN_AT = 0.8",
        "WARN_AT = 0.95",
        "tests/surfaces/cli/test_cli.py::test_the_step_cap_shows_its_notice_and_its_sentinel_and_exits_3",
    ),
    Fault(
        "002.48",
        "src/bridle/turn/closing.py",
        "left = allowed - spent",
        "left = allowed - spent + 1",
        "tests/turn/test_caps.py::test_at_80_percent_reader_and_model_are_told_once",
    ),
    Fault(
        "002.54",
        "src/bridle/config/prompts/closing.md",
        "{limit}. Tools are off for the rest of this turn",
        "Answer now",
        "tests/turn/test_caps.py::test_the_closing_instruction_is_a_user_message_that_names_the_limit",
    ),
    Fault(
        "002.55",
        "src/bridle/turn/call_model.py",
        'setup.model.info.closing_tools == "omit" or wanted',
        'setup.model.info.closing_tools == "" or wanted',
        "tests/turn/test_caps.py::test_the_closing_request_keeps_tools_only_where_the_provider_wants_them",
    ),
    Fault(
        "002.56",
        "src/bridle/core/limits.py",
        ">= mark and name not in known:",
        ">= mark:",
        "tests/turn/test_caps.py::test_at_80_percent_reader_and_model_are_told_once",
    ),
    Fault(
        "002.62",
        "src/bridle/core/limits.py",
        "return ceiling if steps is None else min(steps, ceiling)",
        "return min(steps or 25, ceiling)",
        "tests/turn/test_caps.py::test_a_cap_of_n_is_n_requests_of_which_the_last_cannot_act",
    ),
    Fault(
        "002.69",
        "src/bridle/turn/closing.py",
        "    lines.append(f\"Done in this turn: {done}{f' ({calls})' if calls else ''}.\")\n",
        "",
        "tests/turn/test_caps.py::test_the_defiant_call_is_refused_by_the_name_of_its_limit_and_bridle_writes_the_text",
    ),
    Fault(
        "002.71",
        "src/bridle/config/load.py",
        '        ("environment", _from_environment(environment)),\n        ("flag", _nested(flags or {})),\n',
        '        ("flag", _nested(flags or {})),\n',
        "tests/config/test_load.py::test_later_layers_win_and_every_value_knows_where_it_came_from",
    ),
    Fault(
        "002.73",
        "src/bridle/turn/authorize.py",
        'return Refused(Refusal("doom_loop"), f"not executed: {why}")',
        "return None",
        "tests/turn/test_doom_loops.py::test_the_third_identical_call_is_not_run",
    ),
    Fault(
        "003.12",
        "src/bridle/engine/step_log.py",
        'WARNED_OF = ("tools_off", "limit", "doom_loop")',
        'WARNED_OF = ("limit", "doom_loop")',
        "tests/engine/test_step_log.py::test_a_call_of_an_agent_that_only_talks_is_a_warning",
    ),
    Fault(
        "003.31",
        "src/bridle/tools/question.py",
        'choices, kind="question")',
        "choices)",
        "tests/tools/test_more_tools.py::test_a_question_pauses_the_turn_and_the_answer_is_its_result",
    ),
    Fault(
        "003.32",
        "src/bridle/core/result.py",
        '"aborted": 130,',
        '"aborted": 1,',
        "tests/turn/test_reasons.py::test_each_reason_has_its_exit_status_its_sentinel_and_its_text",
    ),
    Fault(
        "003.41",
        "src/bridle/core/limits.py",
        "allowed - closing_seconds(allowed) - TIMER_SECONDS if",
        "2 * allowed if",
        "tests/turn/test_reasons.py::test_each_reason_has_its_exit_status_its_sentinel_and_its_text",
    ),
    Fault(
        "003.42",
        "src/bridle/wire/events.py",
        'tag="step_start"',
        'tag="step"',
        "tests/surfaces/cli/test_cli.py::test_json_lines_tell_the_whole_story_and_end_with_the_result",
    ),
    Fault(
        "003.46",
        "src/bridle/core/decide.py",
        "return Pause(turn.asking)",
        'return Settle(turn.asking, Refusal("rejected"))',
        "tests/turn/test_reasons.py::test_paused_is_no_ending",
    ),
    Fault(
        "003.56",
        "src/bridle/config/markdown.py",
        "        try:\n            if name in seen:",
        '        head.pop("steps", None)\n        try:\n            if name in seen:',
        "tests/config/test_shapes.py::test_a_file_that_somebody_has_means_what_it_says",
    ),
    Fault(
        "003.57",
        "src/bridle/core/decide.py",
        "if answered or (turn.cap == 0 and turn.closing is None):",
        "if answered:",
        "tests/turn/test_caps.py::test_steps_0_is_one_text_only_request_without_closing_or_sentinel",
    ),
    Fault(
        "003.70",
        "src/bridle/config/agents.py",
        "steps=20)",
        "steps=25)",
        "tests/config/test_load.py::test_agents_of_the_settings_stand_over_the_built_in_ones",
    ),
    Fault(
        "003.76",
        "src/bridle/turn/take_inbox.py",
        '"aborted", item.detail)',
        '"error", item.detail)',
        "tests/turn/test_abort.py::test_an_abort_ends_the_turn_at_once_and_keeps_everything",
    ),
    Fault(
        "003.89",
        "src/bridle/core/repetition.py",
        "REPEATS = 3\n",
        "REPEATS = 4\n",
        "tests/turn/test_doom_loops.py::test_the_third_identical_call_is_not_run",
    ),
    Fault(
        "004.5",
        "src/bridle/journal/memory.py",
        "        if item.id in kept.inbox:\n",
        "        if kept.inbox.get(item.id) is not None:\n",
        "tests/engine/test_engine.py::test_the_same_prompt_id_twice_is_one_prompt",
    ),
    Fault(
        "004.10",
        "src/bridle/turn/take_inbox.py",
        "isinstance(item, PromptItem) and item.reply]",
        "isinstance(item, PromptItem)]",
        "tests/engine/test_engine.py::test_a_prompt_without_reply_is_only_recorded",
    ),
    Fault(
        "004.11",
        "src/bridle/assembly/toolset.py",
        "wanted = {**agent.tools, **options.tools}",
        "wanted = {**agent.tools}",
        "tests/mcp/test_servers.py::test_tools_are_switched_off_by_a_pattern",
    ),
    Fault(
        "004.17",
        "src/bridle/core/fold.py",
        "session.answers.setdefault(prompt, words)",
        "session.answers.setdefault(prompt, ())",
        "tests/engine/test_engine.py::test_a_second_runtimes_prompt_goes_to_the_holder",
    ),
    Fault(
        "004.21",
        "src/bridle/core/compaction.py",
        "    return kept + list(messages[through:])",
        "    return kept + list(messages)",
        "tests/turn/test_compaction.py::test_a_full_window_is_compacted_and_the_turn_goes_on_under_the_same_numbers",
    ),
    Fault(
        "004.28",
        "src/bridle/turn/take_inbox.py",
        "(view.step is None or view.step.number < view.cap)",
        "view.step is None",
        "tests/engine/test_engine.py::test_after_a_final_step_a_steered_prompt_prolongs_the_turn_if_a_step_is_left",
    ),
    Fault(
        "004.33",
        "src/bridle/turn/children.py",
        "ended = Done if good else Failed",
        "ended = Done",
        "tests/turn/test_trees.py::test_a_defiant_child_makes_as_many_requests_as_it_may_and_the_parent_is_told",
    ),
    Fault(
        "004.47",
        "src/bridle/core/compaction.py",
        "PRUNE_BEYOND_TOKENS = 40_000",
        "PRUNE_BEYOND_TOKENS = 0",
        "tests/turn/test_compaction.py::test_old_outputs_are_pruned_at_the_end_of_a_turn_in_a_block_worth_it",
    ),
    Fault(
        "004.41",
        "src/bridle/assembly/prompts.py",
        "if before is None or before.agent == agent.name:",
        "if before is None or before.agent:",
        "tests/assembly/test_agents.py::test_a_switch_of_agents_is_told_to_the_model",
    ),
    Fault(
        "004.56",
        "src/bridle/turn/processor.py",
        'return (self._grow("reasoning", sound(event.text)),)',
        'return (self._grow("text", sound(event.text)),)',
        "tests/turn/test_streams.py::test_every_stream_event_finds_its_part",
    ),
    Fault(
        "004.58",
        "src/bridle/turn/processor.py",
        'return PartDelta(reply_part_id(self._prefix, place), 0, "", "arguments", name)',
        'return PartDelta(reply_part_id(self._prefix, place), 0, "", "arguments")',
        "tests/turn/test_streams.py::test_a_call_is_shown_by_its_name_before_its_arguments_come_and_recorded_once_it_is_whole",
    ),
    Fault(
        "004.63",
        "src/bridle/turn/processor.py",
        "Done(sound(output), result_digest(output))",
        "Failed(sound(output), result_digest(output))",
        "tests/turn/test_streams.py::test_every_stream_event_finds_its_part",
    ),
    Fault(
        "004.64",
        "src/bridle/turn/processor.py",
        "Failed(sound(error), result_digest(error))",
        "Done(sound(error), result_digest(error))",
        "tests/turn/test_streams.py::test_every_stream_event_finds_its_part",
    ),
    Fault(
        "004.65",
        "src/bridle/turn/processor.py",
        "self.error = event\n",
        "pass\n",
        "tests/turn/test_streams.py::test_an_adapter_that_reports_an_error_event_is_not_listened_to_any_more",
    ),
    Fault(
        "004.67",
        "src/bridle/turn/processor.py",
        "self.finish, self.usage = finish, usage",
        "self.finish = finish",
        "tests/turn/test_streams.py::test_every_stream_event_finds_its_part",
    ),
    Fault(
        "004.70",
        "src/bridle/turn/partial_reply.py",
        "self.text[offset:]",
        "self.text",
        "tests/turn/test_streams.py::test_text_is_recorded_as_it_grows_and_not_again_at_the_end",
    ),
    Fault(
        "004.71",
        "src/bridle/turn/processor.py",
        "case TextStart() | TextEnd() | ReasoningStart():\n                self._growing = None",
        "case TextStart() | TextEnd() | ReasoningStart():\n                pass",
        "tests/turn/test_streams.py::test_every_stream_event_finds_its_part",
    ),
    Fault(
        "004.72",
        "src/bridle/turn/processor.py",
        "self.ended = True",
        "pass",
        "tests/turn/test_streams.py::test_every_stream_event_finds_its_part",
    ),
    Fault(
        "004.75",
        "src/bridle/turn/call_model.py",
        "again = broken.overflow and self.active.turn.start.compact_at > 0",
        "again = False",
        "tests/turn/test_compaction.py::test_the_providers_word_that_it_overflows_compacts_and_asks_again_under_the_same_number",
    ),
    Fault(
        "004.82",
        "src/bridle/core/repair.py",
        'order="deterministic"',
        "order=None",
        "tests/turn/test_doom_loops.py::test_permuted_keys_are_the_same_call",
    ),
    Fault(
        "004.83",
        "src/bridle/core/moves.py",
        "turn.repetition.restart()",
        "pass",
        "tests/turn/test_doom_loops.py::test_doom_loop_is_asked_and_allow_once_restarts_the_count",
    ),
    Fault(
        "004.86",
        "src/bridle/core/moves.py",
        "turn.doom_allowed.add(call.name)",
        "pass",
        "tests/turn/test_doom_loops.py::test_always_holds_for_that_tool_in_this_turn",
    ),
    Fault(
        "004.87",
        "src/bridle/core/permission.py",
        "return access.permission not in NAMED_ALONE and matches(",
        "return matches(",
        "tests/turn/test_doom_loops.py::test_only_a_rule_that_names_doom_loop_answers_it",
    ),
    Fault(
        "004.90",
        "src/bridle/assembly/toolset.py",
        "{**self.own, **self.source.tools(self.own)} if self.source is not None else self.own",
        "self.own",
        "tests/mcp/test_servers.py::test_a_turn_uses_a_server_over_standard_input_and_output",
    ),
    Fault(
        "004.98",
        "src/bridle/core/system_prompt.py",
        "*instructions, call, user)",
        "*instructions, user)",
        "tests/surfaces/cli/test_cli_models.py::test_the_prompt_can_be_looked_at",
    ),
    Fault(
        "004.100",
        "src/bridle/core/system_prompt.py",
        "for piece in pieces if piece.strip())",
        "for piece in pieces)",
        "tests/core/test_system_prompt.py::test_pieces_are_joined_in_order_and_empty_ones_leave_no_trace",
    ),
    Fault(
        "004.101",
        "src/bridle/values/options.py",
        "merged[key] = layered(below, value)",
        "merged[key] = value",
        "tests/surfaces/cli/test_cli_models.py::test_options_come_in_layers_and_the_variant_is_the_last",
    ),
    Fault(
        "004.103",
        "src/bridle/assembly/model_setup.py",
        "layered(info.options, agent.options, info.variants",
        "layered(agent.options, info.options, info.variants",
        "tests/surfaces/cli/test_cli_models.py::test_options_come_in_layers_and_the_variant_is_the_last",
    ),
    Fault(
        "004.106",
        "src/bridle/core/repair.py",
        "folded = name.casefold()",
        "folded = name",
        "tests/turn/test_streams.py::test_a_call_is_repaired_or_refused_with_what_is_wrong",
    ),
    Fault(
        "004.110",
        "src/bridle/core/repair.py",
        "    return f\"Available tools: {', '.join(sorted(tools)) or 'none'}.\"",
        '    return ""',
        "tests/turn/test_streams.py::test_a_call_is_repaired_or_refused_with_what_is_wrong",
    ),
    Fault(
        "004.114",
        "src/bridle/core/session.py",
        "self.counted = usage.total\n",
        "self.counted = usage.output\n",
        "tests/turn/test_compaction.py::test_a_full_window_is_compacted_and_the_turn_goes_on_under_the_same_numbers",
    ),
    Fault(
        "004.114",
        "src/bridle/core/states.py",
        "return self.input + self.output + self.reasoning +",
        "return self.input + self.output +",
        "tests/turn/test_trees_hostile.py::test_density_is_learnt_from_the_whole_and_thoughts_are_not_words",
    ),
    Fault(
        "004.122",
        "src/bridle/turn/take_inbox.py",
        "    if not doom:\n",
        "    if doom:\n",
        "tests/tools/test_more_tools.py::test_a_question_that_is_waved_away_ends_the_turn",
    ),
    Fault(
        "004.129",
        "src/bridle/core/status.py",
        'return Status("retry", len(request.state.tries), last.error, last.next)',
        'return Status("busy")',
        "tests/turn/test_retry.py::test_every_failed_try_is_recorded_before_the_wait",
    ),
    Fault(
        "004.130",
        "src/bridle/core/retry.py",
        "if failures > policy.retries:",
        "if failures >= policy.retries:",
        "tests/turn/test_retry.py::test_six_failures_end_the_turn_and_say_why",
    ),
    Fault(
        "004.133",
        "src/bridle/core/retry.py",
        "500, 502, 503",
        "500, 503",
        "tests/turn/test_retry.py::test_these_are_asked_again",
    ),
    Fault(
        "004.135",
        "src/bridle/core/retry.py",
        "return status in RETRYABLE if marked is None else marked",
        "return status in RETRYABLE",
        "tests/turn/test_retry.py::test_these_are_not",
    ),
    Fault(
        "004.139",
        "src/bridle/core/retry.py",
        "longest_delay: float = 60.0",
        "longest_delay: float = 90.0",
        "tests/turn/test_retry.py::test_delays_double_with_jitter_and_have_a_floor_and_a_ceiling",
    ),
    Fault(
        "004.140",
        "src/bridle/core/retry.py",
        'fields.get("retry-after")',
        'fields.get("retry")',
        "tests/turn/test_retry.py::test_the_delay_that_a_provider_asks_for",
    ),
    Fault(
        "004.143",
        "src/bridle/core/retry.py",
        "2 ** (failures - 1)",
        "2 ** failures",
        "tests/turn/test_retry.py::test_delays_double_with_jitter_and_have_a_floor_and_a_ceiling",
    ),
    Fault(
        "004.144",
        "src/bridle/core/retry.py",
        " + chance * policy.jitter",
        "",
        "tests/turn/test_retry.py::test_delays_double_with_jitter_and_have_a_floor_and_a_ceiling",
    ),
    Fault(
        "004.31",
        "src/bridle/turn/actions.py",
        "            begin_title(self._active)",
        "            pass",
        "tests/turn/test_titles.py::test_a_title_is_asked_for_before_the_first_reply_has_ended",
    ),
    Fault(
        "004.66",
        "src/bridle/turn/patch_files.py",
        "        if isinstance(before, str):",
        "        if not isinstance(before, str):",
        "tests/runtime/test_undo.py::test_undo_and_redo_restore_every_kind_of_file_and_leave_git_alone",
    ),
    Fault(
        "004.68",
        "src/bridle/turn/run_calls.py",
        "    await finish_patch(active)\n",
        "",
        "tests/runtime/test_undo.py::test_the_diff_shows_what_the_session_changed_and_nothing_else",
    ),
    Fault(
        "000.48",
        "src/bridle/core/decide.py",
        "closing, cap = turn.closing, turn.cap",
        "closing, cap = turn.closing, turn.cap if turn.cap < 200 else sum(1 for _ in range(200))",
        "tests/test_architecture.py::test_a_turn_without_a_cap_costs_no_more_than_one_with",
    ),
    Fault(
        "001.72",
        "src/bridle/assembly/limits.py",
        "tool_calls=given.subagent_tool_calls",
        "tool_calls=given.tool_calls",
        "tests/assembly/test_agents.py::test_the_list_of_agents_tells_the_limits_that_hold",
    ),
    Fault(
        "002.65",
        "src/bridle/assembly/limits.py",
        "steps=settings.behavior.max_steps",
        "steps=10",
        "tests/assembly/test_agents.py::test_max_steps_of_a_file_is_the_cap_of_a_run",
    ),
    Fault(
        "004.25",
        "src/bridle/assembly/turns.py",
        "model=delegating(model, session),",
        "model=model,",
        "tests/surfaces/cli/test_cli_trees.py::test_a_command_with_a_subtask_runs_as_a_subagent_and_its_report_goes_on",
    ),
    Fault(
        "004.41",
        "src/bridle/assembly/prompts.py",
        "if before is None or before.agent == agent.name:",
        "if before is None or before.agent:",
        "tests/assembly/test_agents.py::test_a_switch_of_agents_is_told_to_the_model",
    ),
]


def plant(fault: Fault | None, into: Path) -> None:
    """A copy of the source with one fault in it, or with none."""
    shutil.copytree(ROOT / "src", into / "src", ignore=shutil.ignore_patterns("__pycache__"))
    if fault is not None:
        path = into / fault.path
        text = path.read_text(encoding="utf-8")
        assert text.count(fault.before) == 1, f"{fault.row}: found {text.count(fault.before)} times in {fault.path}"
        path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")


def environment(folder: Path) -> dict[str, str]:
    """What makes Python, and every command that a test starts, import the copy instead of what is installed."""
    return {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


def imports_the_copy(folder: Path) -> bool:
    """Whether the copy is what `import bridle` finds."""
    command = [sys.executable, "-c", "import bridle; print(bridle.__file__)"]
    found = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=True).stdout
    return Path(found.strip()).is_relative_to(folder)


def run(folder: Path, test: str) -> subprocess.CompletedProcess[str] | None:
    """The test against the copy; None if it came to no end."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    try:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment(folder),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None


def caught(fault: Fault) -> bool:
    """Whether the test fails, and by an assertion: a file that cannot be imported proves nothing."""
    with tempfile.TemporaryDirectory() as name:
        plant(fault, Path(name))
        done = run(Path(name), fault.test)
    return done is not None and done.returncode == 1 and ASSERTED.search(done.stdout) is not None


def failing_unbroken() -> list[str]:
    """The named tests that fail without any fault, which would make every table true."""
    tests = sorted({fault.test for fault in FAULTS})
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        plant(None, folder)
        if not imports_the_copy(folder):
            return ["the copy of the source is not what is imported"]
        ends = pool.map(lambda test: run(folder, test), tests)
        return [test for test, done in zip(tests, ends, strict=True) if done is None or done.returncode]


def shown(fault: Fault) -> str:
    """What was broken, in one cell of a table."""
    before, after = (" ".join(text.split()).replace("|", "\\|") for text in (fault.before, fault.after))
    change = f"`{before}` becomes `{after}`" if after else f"`{before}` is gone"
    return f"{fault.path.removeprefix('src/bridle/')}: {change}"


def row_of(fault: Fault, *, seen: bool) -> str:
    """A row of the table."""
    return f"| {fault.row} | {shown(fault)} | {fault.test} | {'yes' if seen else '**no**'} |"


HEAD = """# Faults planted against the seeds

Made by `scripts/seeds`: each fault breaks what a row of [seeds.md](seeds.md) asks for, and the test that the row names
must fail by an assertion of its own.

| # | what was broken | test | caught |
| --- | --- | --- | --- |
"""


def main() -> int:
    failing = failing_unbroken()
    for test in failing:
        print(f"fails without any fault: {test}", file=sys.stderr)
    lines: list[str] = []
    missed = 0
    with ThreadPoolExecutor(2) as pool:
        for fault, seen in zip(FAULTS, pool.map(caught, FAULTS), strict=True):
            missed += not seen
            lines.append(row_of(fault, seen=seen))
            print(f"{fault.row} {'caught' if seen else 'MISSED'}", flush=True)
    counted = f"{len(FAULTS) - missed} of {len(FAULTS)} are caught."
    PAGE.write_text(HEAD + "\n".join(lines) + f"\n\n{counted}\n", encoding="utf-8")
    print(counted)
    return 1 if missed or failing else 0


if __name__ == "__main__":
    sys.exit(main())
