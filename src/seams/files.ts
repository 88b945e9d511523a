import type { Cancel } from '../base/cancel.ts';

export type FileType = 'file' | 'directory' | 'symlink' | 'socket' | 'pipe' | 'device';

export interface FileFacts {
  readonly path: string;
  readonly name: string;
  readonly type: FileType;
  readonly size: number;
  readonly mode: number;
  readonly mtimeMs: number;
  readonly uid: number;
  readonly gid: number;
  /** Where a symlink points, as written in it. */
  readonly target: string | null;
}

export interface Listing {
  readonly entries: readonly FileFacts[];
  readonly truncated: boolean;
}

export interface GrepMatch {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

export type WatchEvent = {
  readonly type: 'create' | 'modify' | 'remove' | 'move' | 'overflow';
  readonly path: string;
};

export interface Range extends Cancel {
  readonly offset?: number;
  readonly length?: number;
}

/**
 * The files of a sandbox, as its user sees them. A relative path starts at the workdir.
 * Everything is decided by the guest inside the sandbox: no host path is ever built from these names.
 * A missing file is `file_not_found`, except where a line says otherwise.
 */
export interface Files {
  /** The whole file or a range of it; more than 64 MiB is `too_large`: use `stream`. */
  read(path: string, options?: Range): Promise<Uint8Array>;
  readText(path: string, options?: Range): Promise<string>;
  stream(path: string, options?: Range): AsyncIterable<Uint8Array>;
  /** Replaces the file in one step, keeps mode and owner, makes missing parents. A cut-off write leaves nothing. */
  write(
    path: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array>,
    options?: { readonly mode?: number; readonly exclusive?: boolean } & Cancel,
  ): Promise<FileFacts>;
  append(
    path: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array>,
    options?: Cancel,
  ): Promise<FileFacts>;
  stat(path: string, options?: { readonly follow?: boolean } & Cancel): Promise<FileFacts>;
  exists(path: string, options?: Cancel): Promise<boolean>;
  list(
    path: string,
    options?: { readonly depth?: number; readonly limit?: number } & Cancel,
  ): Promise<Listing>;
  /** Makes parents too; an existing folder is no error. */
  mkdir(path: string, options?: { readonly mode?: number } & Cancel): Promise<void>;
  move(path: string, to: string, options?: { readonly overwrite?: boolean } & Cancel): Promise<void>;
  copy(path: string, to: string, options?: { readonly overwrite?: boolean } & Cancel): Promise<void>;
  /** True when something was removed; a missing path is false. '' and the roots are refused. */
  remove(path: string, options?: Cancel): Promise<boolean>;
  chmod(path: string, mode: number, options?: Cancel): Promise<void>;
  /** Names below `path` that match a glob (`**` crosses folders). */
  search(path: string, pattern: string, options?: { readonly limit?: number } & Cancel): Promise<Listing>;
  grep(
    path: string,
    pattern: string,
    options?: {
      readonly regex?: boolean;
      readonly ignoreCase?: boolean;
      readonly include?: string;
      readonly limit?: number;
    } & Cancel,
  ): Promise<{ readonly matches: readonly GrepMatch[]; readonly truncated: boolean }>;
  /** Atomic; with `expect`, another number of hits changes nothing and is `invalid_input`. */
  replace(
    path: string,
    pattern: string,
    replacement: string,
    options?: { readonly regex?: boolean; readonly expect?: number } & Cancel,
  ): Promise<number>;
  /** Changes from the moment that `onReady` is called; ends when the caller stops. */
  watch(
    path: string,
    options?: { readonly recursive?: boolean; readonly onReady?: () => void } & Cancel,
  ): AsyncIterable<WatchEvent>;
  /** A folder as a tar stream; links travel as links. */
  archive(path: string, options?: Cancel): AsyncIterable<Uint8Array>;
  /** Unpacks a tar stream below `path`, whole or not at all: a path, link or device that could leave it is `archive_refused`. */
  extract(path: string, tar: AsyncIterable<Uint8Array>, options?: Cancel): Promise<number>;
  /** A host folder into the sandbox; links in it travel as links. */
  upload(hostFolder: string, path: string, options?: Cancel): Promise<number>;
  /**
   * A sandbox folder into a new host folder, whole or not at all; the sandbox is not trusted with the archive. Holes of
   * files stay holes; more than `maxBytes` on the host's disk is `too_large`.
   */
  download(
    path: string,
    hostFolder: string,
    options?: { readonly maxBytes?: number } & Cancel,
  ): Promise<number>;
  /** A sandbox file as a new host file, by the same rules. What is there already is refused; a failure leaves nothing. */
  save(
    path: string,
    hostFile: string,
    options?: { readonly mode?: number; readonly maxBytes?: number } & Cancel,
  ): Promise<void>;
}
