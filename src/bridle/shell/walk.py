"""`Walk`: records commands, their folders and redirections from a line's syntax tree; unknown nodes become doubts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from tree_sitter import Node

from bridle.shell.evaluation import Evaluated, check_pattern
from bridle.shell.findings import Folders, OpenedFile, Script, Simple, either
from bridle.shell.nodes import Unclear, check_gaps, is_quoted, operands_of, text_of, without_expansions
from bridle.shell.variables import Assigned, commands_run_by, exported_by, plain_name, steers
from bridle.shell.words import UNKNOWN, Word, ends_only_at_its_end, expands, names, word_of

ASSIGNS = names("read mapfile readarray getopts printf export declare local typeset")
MOVES = names("cd pushd popd")
STRUCTURE = names(
    "program negated_command if_statement elif_clause else_clause do_group case_statement compound_statement"
)
OWN_PROCESS = names("pipeline subshell command_substitution process_substitution")
TOKENS = names(
    "; ;; ;& ;;& & && || | |& ( ) { } if then elif else fi while until do done for in select case esac ! "
    "$( ` <( >( function [[ ]] [ ]"
) | {"\n"}


class Walk:
    """Records findings in a script; unknown syntax becomes a doubt. `taken_apart` parses text that is run in turn."""

    def __init__(
        self, script: Script, folders: Folders, depth: int, taken_apart: Callable[[str, Folders, int], Script]
    ) -> None:
        self._script = script
        self._folders = folders
        self._depth = depth
        self._taken_apart = taken_apart
        self._evaluated = evaluated = Evaluated(script.numbers, self.visit, self._word)
        self._visits: dict[str, Callable[[Node], None]] = {
            **dict.fromkeys(STRUCTURE, self._within),
            **dict.fromkeys(OWN_PROCESS, self._apart),
            "list": self._list,
            "while_statement": self._again,
            "command": self._command,
            "redirected_statement": self._redirected,
            "file_redirect": self._file_redirect,
            "heredoc_redirect": self._heredoc,
            **dict.fromkeys(("herestring_redirect", "heredoc_body"), self._herestring),
            **dict.fromkeys(("variable_assignment", "variable_assignments"), self._assignment),
            **dict.fromkeys(("declaration_command", "unset_command"), self._declaration),
            **dict.fromkeys(("for_statement", "c_style_for_statement"), self._for),
            "case_item": self._case_item,
            "function_definition": self._function,
            "test_command": evaluated.test,
            "arithmetic_expansion": evaluated.arithmetic,
            **dict.fromkeys(("expansion", "simple_expansion"), evaluated.expansion),
        }

    def visit(self, node: Node) -> None:
        if node.type in (";;", ";&", ";;&") and (node.parent is None or node.parent.type != "case_item"):
            self._script.doubts.append("the end of a case that is none")
        if node.type in TOKENS or node.type == "comment":
            return
        try:
            if node.type not in self._visits:
                raise Unclear(f"{node.type}: {text_of(node)[:40]}")
            self._visits[node.type](node)
        except Unclear as unclear:
            self._script.doubts.append(str(unclear))

    def _within(self, node: Node) -> None:
        if node.type == "compound_statement" and text_of(node).startswith("(("):
            self._evaluated.arithmetic(node)
            return
        before = self._folders
        for child in node.children:
            if (child.type == "word" and node.type == "case_statement") or child.type in _VALUES:
                self._word(child)
            else:
                self.visit(child)
        if node.type not in ("program", "compound_statement", "do_group", "negated_command"):
            # The inner commands may not have run.
            self._folders = either(before, self._folders)

    def _apart(self, node: Node) -> None:
        """Visit commands that run in a process of their own, and so with a folder of their own."""
        if text_of(node).startswith("`") and "\\" in text_of(node):
            raise Unclear("backslashes between backquotes")
        before = self._folders
        for child in node.children:
            if node.type == "pipeline":
                self._folders = before
            if child.type == "file_redirect" and node.type == "command_substitution":
                raise Unclear("a substitution that reads a file")
            self.visit(child)
        self._folders = before

    def _list(self, node: Node, redirects: Sequence[Node] = ()) -> None:
        """Visit commands joined by `&&` and `||`; redirections at the end belong only to the last."""
        *before, last = operands_of(node)
        seen = self._folders
        for operand, operator in before:
            start = self._folders
            self.visit(operand)
            if operator == "&&" and _is_cd(operand) and start is not None and self._folders is not None:
                # The rest runs only if `cd` succeeded.
                self._folders = self._folders - start or self._folders
            elif operator == "||":
                self._folders = either(start, self._folders)
            seen = either(seen, self._folders)
        self.visit(last[0])
        for redirect in redirects:
            self.visit(redirect)
        self._folders = either(seen, self._folders)

    def _word(self, node: Node) -> Word:
        return word_of(node, self.visit)

    def _command(self, node: Node) -> None:
        assigned: list[Assigned] = []
        words: list[Word] = []
        check_gaps(node)
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    assigned.append(self._assigned(child))
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect":
                    self._visits[child.type](child)
                case "subshell":
                    raise Unclear("a subshell among words")
                case kind:
                    words.append(Word(kind) if kind in ("$", "=", "==", "=~") else self._word(child))
        quoted = bool(node.children) and is_quoted(node.children[len(assigned)])
        self._found(words, assigned, text_of(node), quoted=quoted)

    def _found(self, words: list[Word], assigned: list[Assigned], written: str, *, quoted: bool) -> None:
        if not words:
            return
        first = words[0]
        if first.known and not quoted and first.text in ("coproc", "function", "}", "{", "]]", "then", "do"):
            raise Unclear(f"{first.text} was read as a command")
        if first.known and first.text == "time":
            rest = words[2:] if words[1:2] == [Word("-p")] else words[1:]
            if rest and rest[0].text.startswith("-"):
                raise Unclear("time with options")
            self._found(rest, assigned, written, quoted=False)
            return
        plain = words
        while len(plain) > 1 and plain[0] in (Word("command"), Word("builtin")):
            plain = plain[2:] if plain[1] == Word("--") else plain[1:]
            if plain and plain[0].text.startswith("-"):
                break
        plain = plain or words
        inner = commands_run_by(plain)
        if inner is None:
            raise Unclear(f"{first.text} runs what is not known")
        for text in inner:
            self._include(self._taken_apart(text, self._folders, self._depth + 10))
        if plain[0].text in ASSIGNS:
            for word in plain[1:]:
                self._script.numbers.assign(word.text.partition("=")[0], number=False)
            self._script.exported += exported_by(plain)
        self._script.commands.append(Simple(tuple(words), tuple(assigned), self._folders, written))
        if plain[0].known and plain[0].text in MOVES:
            self._move(plain)

    def _include(self, script: Script) -> None:
        self._script.commands += script.commands
        self._script.opened += script.opened
        self._script.doubts += script.doubts
        self._script.strays |= script.strays
        self._script.exported += script.exported
        self._script.functions |= script.functions
        self._script.numbers.include(script.numbers)
        if any(command.words[0].text in MOVES for command in script.commands):
            self._folders = None

    def _move(self, words: list[Word]) -> None:
        targets = [word for word in words[1:] if word not in (Word("-L"), Word("--"))]
        target = targets[0] if len(targets) == 1 else UNKNOWN
        if not target.known or target.text in ("", "-") or target.text.startswith(("~", "+", "-")) or not self._folders:
            self._folders = None
            self._script.strays = True
            return
        there = {posixpath.normpath(posixpath.join(folder, target.text)) for folder in self._folders}
        self._folders = either(self._folders, frozenset(there))

    def _assigned(self, node: Node) -> Assigned:
        """Return the assigned name, and the value as far as it is known; visits what the value runs."""
        name = text_of(node.children[0])
        value = Word("") if [child.type for child in node.children[1:]] == ["="] else UNKNOWN
        if node.children[0].type == "subscript":
            self._evaluated.subscript(node.children[0])
            name = name.partition("[")[0]
        number = False
        for child in node.children[1:]:
            if child.type == "array":
                for element in child.named_children:
                    if text_of(element).startswith("["):
                        raise Unclear("an index that may be evaluated")
                    self._word(element)
            elif child.type not in ("=", "+="):
                word = self._word(child)
                number = (word.known and word.text.isdigit()) or child.type == "arithmetic_expansion"
                value = word if node.children[1].type == "=" and node.children[0].type != "subscript" else UNKNOWN
        self._script.numbers.assign(name, number=number)
        return Assigned(name, value)

    def _assignment(self, node: Node) -> None:
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        for name, _ in [self._assigned(child) for child in nodes]:
            if steers(name):
                raise Unclear(f"{name} changes what commands do")

    def _declaration(self, node: Node) -> None:
        check_gaps(node)
        words = [Word(text_of(node.children[0]))]
        values: list[Assigned] = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                if child.children[-1].type in _QUOTED and "(" in text_of(child):
                    # Bash reads the text of an array a second time.
                    raise Unclear("a declaration that may be evaluated")
                values.append(self._assigned(child))
                words.append(Word(f"{values[-1].name}="))
            elif child.type == "simple_expansion":
                raise Unclear("a name that is not known")
            else:
                words.append(self._word(child))
        if commands_run_by(words) is None:
            raise Unclear(f"{words[0].text} of what steers other commands")
        self._script.exported += exported_by(words, values)

    def _for(self, node: Node) -> None:
        for child in node.children:
            if child.type == "variable_name":
                if steers(text_of(child)):
                    raise Unclear(f"{text_of(child)} changes what commands do")
                self._script.numbers.assign(text_of(child), number=False)
            elif child.type in ("do_group", "compound_statement"):
                self._again(child)
            elif child.type in ("for", "select", "in", ";", "((", "))", "\n"):
                continue
            elif node.type == "c_style_for_statement":
                self._evaluated.loop_head(child)
            else:
                self._word(child)

    def _again(self, node: Node) -> None:
        """Visit commands that may repeat: if they change the folder, it is unknown from then on."""
        before = self._folders
        self._within(node)
        if self._folders != before:
            self._folders = None
            self._script.strays = True

    def _case_item(self, node: Node) -> None:
        before = self._folders
        pattern = True
        for child in node.children:
            if pattern and child.type not in (")", "(", "|"):
                if child.type == "extglob_pattern":
                    check_pattern(child)
                else:
                    self._word(child)
            elif child.type == ")":
                pattern = False
            else:
                self.visit(child)
        self._folders = either(before, self._folders)

    def _function(self, node: Node) -> None:
        name = next(text_of(child) for child in node.children if child.type == "word")
        if not plain_name(name) or commands_run_by([Word(name)]) is None or steers(name):
            raise Unclear(f"a function called {name}")
        self._script.functions.add(name)
        before = self._folders
        for child in node.children:
            if child.type not in ("function", "word", "(", ")"):
                # The folder in which it will be called is unknown.
                self._folders = start = before if before == frozenset({""}) else None
                self.visit(child)
                self._script.strays |= self._folders != start
        self._folders = before

    def _redirected(self, node: Node) -> None:
        redirects = [child for child in node.children if child.type.endswith("_redirect")]
        bodies = [child for child in node.children if not child.type.endswith("_redirect")]
        if len(bodies) == 1 and bodies[0].type == "list":
            self._list(bodies[0], redirects)
            return
        for child in (*redirects, *bodies):
            self.visit(child)

    def _herestring(self, node: Node) -> None:
        for child in node.children:
            if child.type != "<<<":
                self._word(child)

    def _file_redirect(self, node: Node) -> None:
        operator, targets = "", []
        for child in node.children:
            if not child.is_named:
                operator = child.type
            elif child.type != "file_descriptor":
                targets.append(self._word(child))
        if len(targets) != 1:
            if operator in (">&-", "<&-") and not targets:
                return
            raise Unclear("words behind a redirection")
        duplicates = operator in (">&", "<&") and targets[0].known and re.fullmatch(r"\d*-?", targets[0].text)
        if not duplicates:
            self._script.opened.append(OpenedFile(targets[0], operator not in ("<", "<&"), self._folders))

    def _heredoc(self, node: Node) -> None:
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        if start is None or end is None:
            raise Unclear("a here-document without an end")
        mark = text_of(start)
        delimiter = re.sub(r"[\\'\"]", "", mark)
        if not re.fullmatch(r"[\w.-]+", delimiter) or text_of(end).strip("\t") != delimiter:
            raise Unclear("the end of a here-document")
        for child in node.children:
            if child.type == "heredoc_body":
                quoted = mark != delimiter
                source = (node.text or b"")[child.start_byte - node.start_byte : end.end_byte - node.start_byte]
                if not ends_only_at_its_end(source.decode("utf-8", "surrogateescape"), delimiter, quoted=quoted):
                    raise Unclear("the end of a here-document")
                if not quoted:
                    self._expanded_body(child)
            elif child.type not in ("<<", "<<-", "heredoc_start", "heredoc_end", "file_descriptor"):
                self.visit(child)

    def _expanded_body(self, node: Node) -> None:
        bare, expansions = without_expansions(node)
        if expands(bare):
            raise Unclear("an expansion in a here-document")
        for child in expansions:
            self.visit(child)


_QUOTED = names("string raw_string ansi_c_string concatenation")
_VALUES = _QUOTED | names("simple_expansion expansion number translated_string")


def _is_cd(node: Node) -> bool:
    return node.type == "command" and text_of(node).startswith("cd ")
