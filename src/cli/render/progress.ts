/** A progress line on stderr, shown only at a terminal. */
export interface ProgressLine {
  /** `total` is null if it is unknown. */
  update(done: number, total: number | null): void;
  end(): void;
}

export function showProgress(what: string, stream: NodeJS.WriteStream = process.stderr): ProgressLine {
  const write = (text: string) => {
    if (stream.isTTY) stream.write(text);
  };
  return {
    update: (done, total) =>
      write(`\r${what} ${total === null ? done : `${Math.floor((100 * done) / total)} %`}\x1b[K`),
    end: () => write('\r\x1b[K'),
  };
}
