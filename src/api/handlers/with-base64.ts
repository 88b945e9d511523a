import { isUtf8 } from 'node:buffer';

interface WrittenBytes {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** The text, plus the bytes if they are not valid text. */
export function withBase64<T extends { readonly bytes: WrittenBytes }>({ bytes, ...result }: T) {
  return {
    ...result,
    ...(!isUtf8(bytes.stdout) && { stdoutBase64: Buffer.from(bytes.stdout).toString('base64') }),
    ...(!isUtf8(bytes.stderr) && { stderrBase64: Buffer.from(bytes.stderr).toString('base64') }),
  };
}
