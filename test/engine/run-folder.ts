import { chmodSync, type FSWatcher, mkdirSync, mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { homeOf } from '../../src/runtimes/home.ts';

/** Where tests keep the state of an installation, below a folder of their own. */
const statePlaces = ['state', '.local/state/geode'];

/**
 * The temporary folder of one run of tests, or of a bench, with a folder for each test file. Its name is the mark of this run: what
 * carries it is ours, and nothing else is, whatever other runs do on the machine or left there.
 */
export class RunFolder {
  readonly path: string;
  /** Folders by test file. Their names are short, because socket paths below them have a length limit. */
  readonly folders: Readonly<Record<string, string>>;
  readonly #mark: string;
  readonly #homes = new Map<string, string>();
  readonly #watchers: FSWatcher[];

  constructor(testFiles: readonly string[] = []) {
    this.path = mkdtempSync(join(tmpdir(), 'geode-'));
    this.#mark = `/${basename(this.path)}`;
    // A test may let a sandbox's user into its own folder, so it must be able to get there.
    chmodSync(this.path, 0o711);
    this.folders = Object.fromEntries(
      testFiles.map((file, index) => [file, join(this.path, index.toString(36))]),
    );
    for (const folder of Object.values(this.folders)) mkdirSync(folder, { mode: 0o700 });
    this.#watchers = [this.path, ...Object.values(this.folders)].map((folder) =>
      watch(folder, { persistent: false }, (_, name) => {
        if (name !== null) this.note(join(folder, name));
      }),
    );
  }

  /** Remembers a folder of a test: what an installation in it made elsewhere is known by a hash of the state folder. */
  note(folder: string): void {
    for (const place of statePlaces) this.#homes.set(homeOf({ stateDir: join(folder, place) }), folder);
  }

  /** Whether a path of this run is in the text. Mount tables may leave out how the path begins. */
  isIn(text: string): boolean {
    return text.includes(this.#mark);
  }

  /** The folder of the installation that signs with this hash, if it is one of this run. */
  folderOfHome(home: string | undefined): string | undefined {
    return home === undefined ? undefined : this.#homes.get(home);
  }

  /** The test file whose folder is in the text, in words for the end of a line. */
  culprit(text: string): string {
    const index = text.split(`${this.#mark}/`)[1]?.match(/^[0-9a-z]+/)?.[0];
    const file = Object.entries(this.folders).find(([, folder]) => basename(folder) === index)?.[0];
    return file === undefined ? '' : ` (left by ${file})`;
  }

  remove(): void {
    for (const watcher of this.#watchers) watcher.close();
    rmSync(this.path, { recursive: true, force: true });
  }
}
