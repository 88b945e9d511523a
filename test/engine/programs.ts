import { reasonForNoChromium } from '../api/chromium.ts';
import { claudeCode, codex } from '../fixtures/agent-programs.ts';
import { cargoProgram } from '../fixtures/cargo.ts';
import { qdrantMissing } from '../memory/qdrant-server.ts';

/**
 * The programs beside the engines that suites are skipped without, one line for each that is missing. A CI machine
 * fetches them before the first test, so that none of these suites is skipped there unseen.
 */
export async function missingPrograms(): Promise<readonly string[]> {
  const [chromium, claude, codexProgram] = await Promise.all([reasonForNoChromium(), claudeCode(), codex()]);
  const reasons: Readonly<Record<string, string | null>> = {
    chromium,
    claude: claude.available ? null : claude.reason,
    codex: codexProgram.available ? null : codexProgram.reason,
    qdrant: qdrantMissing,
    cargo: cargoProgram() === undefined ? 'neither Debian nor rustup has installed it' : null,
  };
  return Object.entries(reasons).flatMap(([name, reason]) => (reason === null ? [] : [`${name}: ${reason}`]));
}
