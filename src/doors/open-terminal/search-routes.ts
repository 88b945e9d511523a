/** Searching files by name and by content. */
import { z } from '@hono/zod-openapi';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Files, GrepMatch } from '../../seams/files.ts';
import { folderIn, lookedAt } from './look.ts';
import type { Places } from './place.ts';
import { flag, texts, tool, type WireDoor } from './routes.ts';
import { matcherOf, type TreeEntry, treeOf } from './tree.ts';

const kind = z.enum(['file', 'directory', 'any']).default('any').describe('file, directory or any.');
const folder = z.string().default('.').describe('The folder to search in.');
const most = (usual: number, highest: number) =>
  z.coerce.number().int().min(1).max(highest).default(usual).describe('Maximum number of results.');

export function searchRoutes(door: WireDoor, places: Places): void {
  door.openapi(grep, async (context) => {
    const asked = context.req.valid('query');
    const { files, path } = await lookedAt(context, places, asked.path);
    const found = await matchesIn(files, path, asked, signalOf(context));
    const { max_results: limit } = asked;
    const shown = asked.match_per_line
      ? found.map(({ path: file, line, text }) => ({ file, line, content: text }))
      : [...new Set(found.map(({ path: file }) => file))].map((file) => ({ file }));
    return context.json(
      { query: asked.query, path, matches: shown.slice(0, limit), truncated: shown.length >= limit },
      200,
    );
  });

  door.openapi(glob, async (context) => {
    const { pattern, exclude, type, max_results: limit, path: given } = context.req.valid('query');
    const { files, path } = await folderIn(context, places, given, 'Search directory not found');
    const wanted = matcherOf(pattern);
    const unwanted = exclude.map(matcherOf);
    const entries = await treeOf(files, path, { hidden: true, signal: signalOf(context) });
    const found = entries.filter(
      ({ name, relative, type: own }) =>
        (type === 'any' || type === own) &&
        (wanted(name) || wanted(relative)) &&
        !unwanted.some((excluded) => excluded(name) || excluded(relative)),
    );
    const matches = found
      .slice(0, limit)
      .map(({ relative, type: own, size, modified }) => ({ path: relative, type: own, size, modified }));
    return context.json({ pattern, path, matches, truncated: found.length >= limit }, 200);
  });

  door.openapi(search, async (context) => {
    const { query, limit, type, show_hidden: hidden, path: given } = context.req.valid('query');
    const { files, path } = await folderIn(context, places, given, 'Search directory not found');
    const entries = await treeOf(files, path, { hidden, signal: signalOf(context) });
    const wanted = query.trim().toLowerCase();
    const results = entries
      .filter((entry) => (type === 'any' || entry.type === type) && entry.name.toLowerCase().includes(wanted))
      .toSorted((a, b) => rankOf(a, wanted) - rankOf(b, wanted) || byLength(a.name, b.name))
      .slice(0, limit)
      .map(({ path: own, name, type: sort, size, modified }) => ({
        path: own,
        name,
        type: sort,
        size,
        modified,
      }));
    return context.json({ results }, 200);
  });

  door.openapi(matches, async (context) => {
    const { query: given, offset, limit, show_hidden: hidden, path: at } = context.req.valid('query');
    const query = given.trim();
    if (query === '') throw new GeodeError('invalid_input', 'Query must not be blank.');
    const { files, path } = await folderIn(context, places, at, 'Search directory not found');
    const signal = signalOf(context);
    const entries = await treeOf(files, path, { hidden, signal });
    const contents = Map.groupBy(await linesWith(files, path, query, signal), (match) => match.path);
    const ranked = entries
      .map((entry) => ({
        entry,
        rank: rankOf(entry, query.toLowerCase()),
        lines: contents.get(entry.path) ?? [],
      }))
      .filter(({ rank, lines }) => rank < byContent || lines.length > 0)
      .toSorted((a, b) => a.rank - b.rank || byLength(a.entry.relative, b.entry.relative));
    const results = ranked.slice(offset, offset + limit).map(({ entry, rank, lines }) => ({
      path: entry.path,
      relative_path: entry.relative,
      name: entry.name,
      type: entry.type,
      name_match: rank < byContent,
      content_matches: lines.slice(0, mostLines).map(({ line, text }) => ({
        line,
        column: text.toLowerCase().indexOf(query.toLowerCase()) + 1,
        text,
      })),
    }));
    const next = offset + limit < ranked.length ? offset + limit : null;
    return context.json({ results, next_offset: next }, 200);
  });
}

const mostLines = 20;
const byContent = 4;

function rankOf({ name, relative }: TreeEntry, query: string): number {
  const own = name.toLowerCase();
  if (own === query) return 0;
  if (own.startsWith(query)) return 1;
  if (own.includes(query)) return 2;
  return relative.toLowerCase().includes(query) ? 3 : byContent;
}

function byLength(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1);
}

const mostContentMatches = 5_000;

async function linesWith(
  files: Files,
  path: string,
  query: string,
  signal: AbortSignal,
): Promise<readonly GrepMatch[]> {
  const options = { regex: false, ignoreCase: true, limit: mostContentMatches, signal };
  return (await files.grep(path, query, options)).matches;
}

interface Grep {
  readonly query: string;
  readonly regex: boolean;
  readonly case_insensitive: boolean;
  readonly include: readonly string[];
  readonly max_results: number;
  readonly match_per_line: boolean;
}

/** One pass for each pattern of names. */
async function matchesIn(files: Files, path: string, asked: Grep, signal: AbortSignal) {
  const {
    query,
    regex,
    case_insensitive: ignoreCase,
    include,
    max_results: most,
    match_per_line: byLine,
  } = asked;
  const limit = byLine ? most : mostContentMatches;
  const patterns = include.length === 0 ? [undefined] : include;
  const found: GrepMatch[] = [];
  for (const name of patterns) {
    const options = { regex, ignoreCase, limit, ...(name !== undefined && { include: name }), signal };
    found.push(...(await files.grep(path, query, options)).matches);
  }
  return [...new Map(found.map((match) => [`${match.line} ${match.path}`, match])).values()];
}

const grep = tool('get', '/files/grep', {
  id: 'grep_search',
  summary: 'Search file contents',
  description:
    'Find lines that match a text or a regular expression, in the files of a folder or in one file.',
  query: z.object({
    query: z.string().describe('Text or regular expression.'),
    path: z.string().default('.').describe('Folder or file to search in.'),
    regex: flag(true).describe('false: literal text.'),
    case_insensitive: flag(false).describe('Ignore case.'),
    include: texts.describe("Patterns of file names, such as '*.py'."),
    match_per_line: flag(true).describe('false: only the names of files.'),
    max_results: most(50, 500),
  }),
});

const glob = tool('get', '/files/glob', {
  id: 'glob_search',
  summary: 'Find files by a pattern of names',
  description: 'Find files and folders whose name or relative path matches a pattern.',
  query: z.object({
    pattern: z.string().describe("A pattern, such as '*.py'."),
    path: folder,
    exclude: texts.describe('Patterns to leave out.'),
    type: kind,
    max_results: most(50, 500),
  }),
});

const search = tool('get', '/files/search', {
  id: 'search_files',
  summary: 'Search files by name',
  description: 'Find files and folders by a part of their name, best match first.',
  query: z.object({
    query: z.string().default('').describe('A part of the name.'),
    path: folder,
    limit: most(20, 100),
    type: kind,
    show_hidden: flag(false).describe('Include names that begin with a dot.'),
  }),
});

const matches = tool('get', '/files/matches', {
  id: 'match_files',
  summary: 'Search files by name and contents',
  description: 'Find files and folders by name, path and content, best match first.',
  query: z.object({
    query: z.string().describe('Literal text.'),
    path: folder,
    show_hidden: flag(false).describe('Include names that begin with a dot.'),
    offset: z.coerce.number().int().min(0).default(0).describe('Results to skip.'),
    limit: most(100, 100),
  }),
});
