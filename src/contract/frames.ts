/** The subprotocol that both sides speak, and how a page sends its key beside it. */
export const socketProtocol = 'geode.v1';
export const keyProtocol = 'geode.key.';

export const streamBytes = { stdout: 1, stderr: 2 } as const;
