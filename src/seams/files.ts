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
  /** The target of a symlink, as stored in it. */
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
 * The files of a sandbox, as its user sees them. A relative path starts at the workdir. The guest inside the sandbox
 * resolves every path: no host path is ever built from these names. A missing file throws `file_not_found`, except
 * where a method says otherwise.
 */
export interface Files {
  /** The whole file or a range of it. More than 64 MiB throws `too_large`: use `stream`. */
  read(path: string, options?: Range): Promise<Uint8Array>;
  readText(path: string, options?: Range): Promise<string>;
  stream(path: string, options?: Range): AsyncIterable<Uint8Array>;
  /**
   * Replaces the file atomically, keeps mode and owner, creates missing parents. An interrupted write leaves nothing.
   */
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
  /** Creates parents too. An existing folder is no error. */
  mkdir(path: string, options?: { readonly mode?: number } & Cancel): Promise<void>;
  move(path: string, to: string, options?: { readonly overwrite?: boolean } & Cancel): Promise<void>;
  copy(path: string, to: string, options?: { readonly overwrite?: boolean } & Cancel): Promise<void>;
  /**
   * Returns true if something was removed, false for a missing path. The workdir itself ('') and the roots are
   * refused.
   */
  remove(path: string, options?: Cancel): Promise<boolean>;
  chmod(path: string, mode: number, options?: Cancel): Promise<void>;
  /** Names below `path` that match a glob (`**` matches any number of folders). */
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
  /** Atomic. With `expect`, a different number of matches changes nothing and throws `invalid_input`. */
  replace(
    path: string,
    pattern: string,
    replacement: string,
    options?: { readonly regex?: boolean; readonly expect?: number } & Cancel,
  ): Promise<number>;
  /** Yields changes from the call of `onReady` on; ends when the caller stops. */
  watch(
    path: string,
    options?: { readonly recursive?: boolean; readonly onReady?: () => void } & Cancel,
  ): AsyncIterable<WatchEvent>;
  /** A folder as a tar stream; links stay links. */
  archive(path: string, options?: Cancel): AsyncIterable<Uint8Array>;
  /**
   * Unpacks a tar stream below `path`, all or nothing. Throws `archive_refused` for a path, link or device that could
   * leave it.
   */
  extract(path: string, tar: AsyncIterable<Uint8Array>, options?: Cancel): Promise<number>;
  /** Copies a host folder into the sandbox; links stay links. */
  upload(hostFolder: string, path: string, options?: Cancel): Promise<number>;
  /**
   * Copies a sandbox folder to a new host folder, all or nothing. The sandbox is not trusted with the archive. Holes
   * of files stay holes. Throws `too_large` above `maxBytes` on the host's disk.
   */
  download(
    path: string,
    hostFolder: string,
    options?: { readonly maxBytes?: number } & Cancel,
  ): Promise<number>;
  /**
   * Copies a sandbox file to a new host file, by the same rules. An existing target is refused; a failure leaves
   * nothing.
   */
  save(
    path: string,
    hostFile: string,
    options?: { readonly mode?: number; readonly maxBytes?: number } & Cancel,
  ): Promise<void>;
}
