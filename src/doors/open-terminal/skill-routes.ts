/** Skills: folders with a `SKILL.md`, whose first lines name and describe it. */
import { posix } from 'node:path';
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Files } from '../../seams/files.ts';
import { factsOf } from './look.ts';
import { home, type Places } from './place.ts';
import type { WireDoor } from './routes.ts';

const roots = ['.agents/skills', '.claude/skills', '.codex/skills'];
const mostBytes = 256 * 1024;
const mostResources = 200;

interface Skill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly location: string;
  readonly scope: 'global';
  readonly source: 'terminal';
}

export function skillRoutes(door: WireDoor, places: Places): void {
  door.get('/skills', async (context) => context.json(await skillsOf(context, places), 200));
  door.get('/skills/read', async (context) => {
    const name = context.req.query('name');
    const skill = (await skillsOf(context, places)).find((each) => each.name === name);
    const sandbox = await places.known(context);
    if (skill === undefined || sandbox === undefined)
      throw new GeodeError('file_not_found', 'Skill not found.');
    const signal = signalOf(context);
    const text = await sandbox.rootFiles.readText(skill.location, { signal });
    const folder = posix.dirname(skill.location);
    const { entries } = await sandbox.rootFiles.list(folder, { depth: 0, limit: mostResources, signal });
    const resources = entries
      .filter(({ type }) => type === 'file')
      .map(({ path }) => posix.relative(folder, path))
      .filter((path) => path !== 'SKILL.md' && !path.split('/').some((part) => part.startsWith('.')));
    return context.json({ ...skill, resources, content: partsOf(text).body }, 200);
  });
}

async function skillsOf(context: Context<ApiEnv>, places: Places): Promise<readonly Skill[]> {
  const sandbox = await places.known(context);
  if (sandbox === undefined) return [];
  const signal = signalOf(context);
  const found: Skill[] = [];
  for (const root of roots)
    found.push(...(await skillsIn(sandbox.rootFiles, posix.join(home, root), signal)));
  return [...new Map(found.toReversed().map((skill) => [skill.name, skill])).values()].toReversed();
}

async function skillsIn(files: Files, root: string, signal: AbortSignal): Promise<readonly Skill[]> {
  if ((await factsOf(files, root, signal))?.type !== 'directory') return [];
  const { entries } = await files.list(root, { depth: 1, signal });
  const skills: Skill[] = [];
  for (const { name: folder, type } of entries) {
    const location = posix.join(root, folder, 'SKILL.md');
    if (type !== 'directory' || folder.startsWith('.')) continue;
    if ((await factsOf(files, location, signal))?.type !== 'file') continue;
    const { fields } = partsOf(await files.readText(location, { length: mostBytes, signal }));
    const name = (fields.get('name') ?? folder).trim();
    const description = (fields.get('description') ?? '').trim().slice(0, 1024);
    if (name !== '' && description !== '')
      skills.push({
        id: `terminal:${encodeURIComponent(name)}`,
        name,
        description,
        location,
        scope: 'global',
        source: 'terminal',
      });
  }
  return skills;
}

/** The lines between `---` are fields; an indented block belongs to the field above it. */
function partsOf(text: string): { readonly fields: ReadonlyMap<string, string>; readonly body: string } {
  const [whole, head = ''] = /^---\r?\n([\s\S]*?)\r?\n---[^\n]*(?:\n|$)/.exec(text) ?? [];
  const fields = new Map<string, string>();
  let last = '';
  for (const line of head.split(/\r?\n/)) {
    const [, name, value = ''] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined) {
      last = name;
      fields.set(name, /^[>|]-?$/.test(value) ? '' : value.replace(/^["']|["']$/g, ''));
    } else if (/^\s/.test(line)) fields.set(last, `${fields.get(last) ?? ''} ${line.trim()}`.trim());
  }
  return { fields, body: text.slice(whole?.length ?? 0).trim() };
}
