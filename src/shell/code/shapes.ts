import { type Frame, refuse } from '../frame.ts';
import type { RuleName } from '../verdict.ts';

/** Code is taken for one of these when all of its patterns occur. */
interface Shape {
  readonly rule: RuleName;
  readonly reason: string;
  readonly all: readonly RegExp[];
}

const evaluating =
  /(?<![.\w])(?:exec|eval|execfile|compile|instance_eval)\s*(?:\(|\s)|\bthen\s*\(\s*eval\b|\bnew\s+Function\b|\bvm\.run|\bos\.system\b|\bsystem\s*\(/;
const connecting =
  /\bsocket\b|\bSocket\b|\bTCPSocket\b|\bfsockopen\b|\bstream_socket_client\b|\bnet\.(?:Socket|connect|createConnection)\b|require\(['"]net['"]\)|\/inet\/tcp\//;
const shelling =
  /\bdup2\b|\bpty\.spawn\b|\/bin\/(?:ba|da|z)?sh\b|\bsubprocess\b|\bchild_process\b|\bproc_open\b|\bpopen\b|\bos\.execute\b|\|&\s*getline|\bexec\b|cmd\.exe/;
const receiving =
  /\.connect\b|\bconnect\s*\(|:connect\b|\bTCPSocket\b|\bfsockopen\b|\bstream_socket_client\b|createConnection|create_connection|\.bind\s*\(|\/inet\/tcp\//;
const downloading =
  /\burlopen\b|\burlretrieve\b|\brequests\.get\b|\bhttpx\.get\b|\bfetch\s*\(|\bhttps?\.get\s*\(|\bNet::HTTP\b|\bURI\.open\b|open-uri|\bLWP\b|\bHTTP::Tiny\b|file_get_contents\s*\(\s*['"]https?:|\bcurl_exec\b/;
const decoding =
  /\bb64decode\b|\bb32decode\b|\ba85decode\b|\bdecode_base64\b|\bbase64_decode\b|['"]base64['"]|\bBase64\.(?:strict_|urlsafe_)?decode64\b|\bfromhex\b|\bunhexlify\b|\batob\s*\(|\bzlib\.decompress\b|\bmarshal\.loads\b|\bgzinflate\b/;
const spawningForever =
  /\bfork\b[^;\n]{0,20}\bwhile\b|\bwhile\b[^;\n]{0,40}\bfork\b|\bwhile\b[^\n]{0,20}:\s*\n?\s*os\.fork\b|\bloop\b\s*(?:\{|do)[^}]{0,20}\bfork\b|\bfork\b[^;\n]{0,20}\bfor\b[^;\n]{0,20}\b(?:iter|count|cycle)\b|for\s*\(\s*;;\s*\)[^\n]{0,20}\bfork\b/;

const shapes: readonly Shape[] = [
  { rule: 'fork-bomb', reason: 'The code starts processes without end.', all: [spawningForever] },
  {
    rule: 'reverse-shell',
    reason: 'The code gives a shell to a network connection.',
    all: [connecting, receiving, shelling],
  },
  {
    rule: 'download-and-run',
    reason: 'The code downloads other code and runs it.',
    all: [downloading, evaluating],
  },
  { rule: 'hidden-command', reason: 'The code decodes other code and runs it.', all: [decoding, evaluating] },
];

export function checkShapes(code: string, frame: Frame): void {
  const shape = shapes.find(({ all }) => all.every((pattern) => pattern.test(code)));
  if (shape !== undefined) refuse(frame, shape.rule, shape.reason);
}
