/** The subprotocol that both sides use, and how a page sends its key next to it. */
export const socketProtocol = 'geode.v1';
export const keyProtocol = 'geode.key.';

export const streamBytes = { stdout: 1, stderr: 2 } as const;
