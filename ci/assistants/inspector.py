"""The command line of the MCP Inspector, with a key and with OAuth."""

import json
import os
import pathlib
import pty
import re
import subprocess
import tempfile
import threading
import urllib.request

from helpers import browser, check, equal, is_me

demo = json.loads(os.environ["KARTEI_DEMO"])
folder = pathlib.Path(tempfile.mkdtemp(dir="."))
TOOL_FAILED, NEEDS_AUTHORIZATION = 5, 3  # how it exits


def settings(name):
    """Returns an environment with its own folder for stored files, and without a keyring or a browser."""
    home = folder / name
    home.mkdir()
    return dict(os.environ, HOME=str(home), MCP_STORAGE_DIR=str(home), MCP_INSPECTOR_SECRET_STORE="file", MCP_AUTO_OPEN_ENABLED="false", NO_COLOR="1")


def command(method, *arguments):
    return ["mcp-inspector", "--cli", demo["mcpUrl"], "--transport", "http", "--format", "json", "--method", method, *arguments]


def run(environment, method, *arguments, status=0):
    """Runs the Inspector and returns its output: the results or the errors."""
    done = subprocess.run(command(method, *arguments), env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    equal(f"the status of {method} {done.stdout} {done.stderr}", done.returncode, status)
    return json.loads(done.stdout)["result"] if done.stdout else json.loads(done.stderr)["error"]


def with_key(era):
    environment = settings(era)

    def ask(method, *arguments, key="full", status=0):
        header = "Authorization: Bearer " + demo["keys"][key]
        return run(environment, method, "--header", header, "Accept-Language: en", "--protocol-era", era, *arguments, status=status)

    tools = ask("tools/list")["tools"]
    equal("the number of tools", len(tools), 40)
    found = ask("tools/call", "--tool-name", "contacts_list", "--tool-arg", "q=müller", "limit=2")
    equal("the number of contacts", len(found["structuredContent"]["data"]), 2)
    about = json.dumps({"lastName": "Berg", "email": "no"})
    wrong = ask("tools/call", "--tool-name", "contacts_create", "--tool-args-json", about, status=TOOL_FAILED)
    check(f"a sentence, got {wrong}", wrong["isError"] and wrong["content"][0]["text"].startswith("VALIDATION_FAILED: "))
    equal("the field of the problem", json.loads(wrong["content"][1]["text"])["errors"][0]["field"], "email")
    absent = ask("tools/call", "--tool-name", "contacts_create", "--tool-args-json", about, key="read", status=TOOL_FAILED)
    check(f"no such tool for a reader, got {absent}", "contacts_create" in absent["message"])
    documents = ask("resources/list")["resources"]
    text = ask("resources/read", "--uri", documents[0]["uri"])
    check(f"the text of a document, got {text}", text["contents"][0]["text"])
    equal("the number of templates", len(ask("resources/templates/list")["resourceTemplates"]), 5)
    equal("the number of prompts", len(ask("prompts/list")["prompts"]), 5)
    prompt = ask("prompts/get", "--prompt-name", "kontakt_vorbereiten", "--prompt-args", "name=Berger")
    check(f"the prompt, got {prompt}", "Berger" in prompt["messages"][0]["content"]["text"])


def lets_in(environment, *arguments):
    """Runs the Inspector without a token. It prints the URL of the consent page to a terminal and waits
    for the browser."""
    terminal, end = pty.openpty()
    line = [*command("tools/call", "--tool-name", "me_get"), *arguments]
    with subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=end, text=True) as running:
        os.close(end)
        stop = threading.Timer(60, running.kill)
        stop.start()
        said = ""
        while not (found := re.search(r"navigate to: (\S+)\s", said)):
            try:
                said += os.read(terminal, 4096).decode()
            except OSError as e:  # it has ended
                raise AssertionError(f"no address of the consent page: {said}") from e
        with urllib.request.urlopen(browser("allow", found[1], "contacts:read"), timeout=30) as page:
            page.read()
        printed = running.stdout.read()
        stop.cancel()
    os.close(terminal)
    equal(f"the status {said} {printed}", running.returncode, 0)
    return json.loads(printed)["result"]["structuredContent"]


def with_oauth(name, *arguments):
    environment = settings(name)
    refused = run(environment, "tools/list", "--stored-auth-only", status=NEEDS_AUTHORIZATION)
    equal("the error", refused["code"], "auth_required")
    me = lets_in(environment, *arguments)
    is_me(me, me["grant"]["clientId"], "contacts:read")
    again = run(environment, "tools/call", "--stored-auth-only", "--tool-name", "me_get", *arguments)
    equal("the grant of the next call", again["structuredContent"]["grant"]["id"], me["grant"]["id"])
    return me["grant"]["clientId"]


with_key("legacy")
with_key("modern")
check("it registers", with_oauth("registered").startswith("cli_"))
equal("the client", with_oauth("known", "--client-metadata-url", os.environ["KARTEI_DOCUMENT"]), os.environ["KARTEI_DOCUMENT"])
