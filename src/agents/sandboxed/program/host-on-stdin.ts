import { GeodeError } from '../../../base/errors.ts';
import type { ToolCall, ToolResult } from '../../../seams/model.ts';
import type { PermitRequest } from '../../builtin/agent-tool.ts';
import type { RequestLines } from './request-lines.ts';
import { type AgentLine, type HostLine, hostLine } from './schemas.ts';
import { hostNumber, verifiedLine } from './signed-lines.ts';

/** Services that only the host can provide. */
export interface AnsweringHost {
  call(call: ToolCall): Promise<ToolResult>;
  /** Messages that people sent during the turn; null: none. */
  steers(position: number): Promise<string | null>;
  permit(request: PermitRequest): Promise<boolean>;
}

/**
 * A host that reads events from stdout and answers on stdin. Other text there, for example from a tool that found the
 * descriptor, has no valid signature and is skipped.
 */
export function hostOn(lines: RequestLines, secret: string, send: (line: AgentLine) => void): AnsweringHost {
  const ask = async <Answer>(question: AgentLine, read: (line: HostLine) => Answer | undefined) => {
    send(question);
    for (;;) {
      const line = await lines.next();
      if (line === undefined) throw new GeodeError('agent_failed', 'The host did not answer.');
      const text = verifiedLine(secret, hostNumber, line);
      // A host that takes over from another may answer an earlier question again.
      const answer = text === undefined ? undefined : read(hostLine.parse(JSON.parse(text)));
      if (answer !== undefined) return answer;
    }
  };
  return {
    call: (call) =>
      ask({ type: 'host-call', call }, (line) =>
        line.type === 'host-result' && line.result.id === call.id ? line.result : undefined,
      ),
    steers: (position) =>
      ask({ type: 'hear', position }, (line) =>
        line.type === 'heard' && line.position === position ? line.text : undefined,
      ),
    permit: (request) =>
      ask({ type: 'permit', ...request }, (line) =>
        line.type === 'permitted' && line.call === request.call ? line.isAllowed : undefined,
      ),
  };
}
