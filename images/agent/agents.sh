# Installs the programs of coding agents as package-lock.json pins them. No install script of theirs runs.
set -eu
. /tmp/build/trust.sh
cd /opt/agents
npm ci --ignore-scripts --no-audit --no-fund --registry "$NPM_REGISTRY" --cache /tmp/build/npm
# The adapter comes with a Claude Code of its own, which would be in the image twice.
rm -rf node_modules/@anthropic-ai/claude-agent-sdk-linux-*
ln -sf /opt/agents/node_modules/@anthropic-ai/claude-code-linux-*/claude /usr/local/bin/claude
ln -sf /opt/agents/node_modules/.bin/codex /usr/local/bin/codex
ln -sf /opt/agents/node_modules/.bin/claude-agent-acp /usr/local/bin/claude-agent-acp
claude --version
codex --version
test -x /usr/local/bin/claude-agent-acp
