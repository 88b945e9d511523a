import { createHmac, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { guestCommand } from '../../src/link/command.ts';
import { socketDialer } from '../../src/link/dial.ts';
import { guestFiles } from '../../src/link/files.ts';
import { encodeFrame, encodeHeader, encodeJson, FrameReader, frameTypes } from '../../src/link/frames.ts';
import { newSecret } from '../../src/link/handshake.ts';
import { Link } from '../../src/link/link.ts';
import { ProcessStream } from '../../src/link/process-stream.ts';

type Answer = (stream: ServerHttp2Stream, path: string) => void;

/** Something in the guest's place that says what a test wants it to say. */
async function pose(
  answer: Answer,
  as: { protocol?: number; fresh?: boolean; claimed?: boolean; knows?: string } = {},
) {
  const { protocol = 1, fresh = true, claimed = false } = as;
  const secret = newSecret();
  const knows = as.knows ?? secret;
  const folder = await mkdtemp(join(tmpdir(), 'geode-hostile-'));
  const socket = join(folder, 's');
  const heard: string[] = [];
  const sessions: ServerHttp2Session[] = [];
  const dial = () => {
    const session = performServerHandshake(connect(socket).on('error', () => {}));
    sessions.push(session);
    session.on('error', () => {});
    session.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      const path = String(headers[':path']);
      let body = '';
      stream.on('data', (chunk) => {
        body += chunk;
      });
      if (path === '/v1/hello') {
        stream.on('end', () => {
          const proof = createHmac('sha256', knows)
            .update(`guest${JSON.parse(body).nonce}`)
            .digest('hex');
          reply(stream, {
            protocol,
            version: 'x',
            boot: 'x',
            claimed,
            challenge: '0'.repeat(64),
            proof: claimed ? proof : '',
          });
        });
      } else if (path === '/v1/claim') {
        stream.on('end', () => {
          heard.push(body);
          reply(stream, {});
        });
      } else answer(stream, path);
    });
  };
  const open = async (deadlineMs = 60_000) => {
    const opening = Link.open(
      {
        dialer: socketDialer(socket),
        claim: { secret, env: { KEY: 'env-secret' }, workdir: '/', leaseMs: 0 },
        fresh,
        liveness: async () => ({ alive: true }),
      },
      { deadlineMs },
    );
    // A second connection would take the place of the first.
    const timer = setInterval(() => sessions.every(({ destroyed }) => destroyed) && dial(), 50);
    try {
      return await opening;
    } finally {
      clearInterval(timer);
    }
  };
  /** Connects and sends nothing; resolves when it is accepted, with the wait for its end. */
  const silent = async () => {
    for (;;) {
      const connection = connect(socket).resume();
      const closed = new Promise<void>((resolve) => connection.once('close', () => resolve()));
      connection.on('error', () => {});
      const isIn = new Promise<boolean>((resolve) => {
        connection.once('connect', () => resolve(true)).once('close', () => resolve(false));
      });
      if (await isIn) return { closed };
    }
  };
  return {
    open,
    silent,
    heard,
    cut: () => {
      for (const session of sessions) session.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const reply = (stream: ServerHttp2Stream, body: unknown, status = 200) => {
  stream.respond({ ':status': status });
  stream.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
};
const started = encodeJson(frameTypes.started, { id: 'x', pid: 1 });
const run = async (link: Link) => {
  for await (const _ of await ProcessStream.start(link, guestCommand('x', { argv: ['true'] })));
};

describe('a hostile guest', () => {
  it('SEC-1: silent connections do not block the guest: the host closes the oldest', async () => {
    await using guest = await pose(() => {});
    const opening = guest.open();
    const silent = await Promise.all(Array.from({ length: 40 }, () => guest.silent()));
    const link = await opening;
    await Promise.race(silent.map(({ closed }) => closed));
    await link.close();
    await Promise.all(silent.map(({ closed }) => closed));
  });

  it('GL-6: refuses a guest with another protocol at once, with a hint', async () => {
    await using hostile = await pose(() => {}, { protocol: 2 });
    await expect(hostile.open()).rejects.toMatchObject({
      code: 'guest_version',
      hint: expect.stringContaining('start it again'),
    });
  });

  it('GL-5: the host sends no secret to a false guest that claims to be new', async () => {
    await using hostile = await pose(() => {}, { fresh: false });
    await expect(hostile.open(800)).rejects.toMatchObject({ code: 'sandbox_not_ready' });
    expect(hostile.heard).toEqual([]);
  });

  it('GL-5: the host sends no secret to a false guest that claims to know it', async () => {
    await using hostile = await pose(() => {}, { fresh: false, claimed: true, knows: newSecret() });
    await expect(hostile.open(800)).rejects.toMatchObject({ code: 'sandbox_not_ready' });
    expect(hostile.heard).toEqual([]);
  });

  it.for<[string, Answer]>([
    ['text that is not JSON', (stream) => reply(stream, 'hello')],
    ['the wrong shape', (stream) => reply(stream, { path: 7 })],
    ['an endless answer', (stream) => endless(stream)],
    ['an unknown error code', (stream) => reply(stream, { code: 'constructor', error: 'x' }, 500)],
    ['an error without a body', (stream) => reply(stream, '', 500)],
  ])('GL-5: %s to a question cuts it off', async ([, answer]) => {
    await using hostile = await pose(answer);
    const link = await hostile.open();
    await expect(guestFiles(link, 'sandbox').stat('/x')).rejects.toMatchObject({ code: 'guest_protocol' });
    await expect(guestFiles(link, 'sandbox').stat('/x')).rejects.toMatchObject({ code: 'guest_protocol' });
    await link.close();
  });

  it.for<[string, Buffer]>([
    ['a frame of 4 GB', Buffer.concat([started, encodeHeader(frameTypes.stdout, 0xffffffff)])],
    ['an offset that jumps', Buffer.concat([started, encodeFrame(frameTypes.stdout, Buffer.from('x'), 5)])],
    [
      'an offset beyond numbers',
      Buffer.concat([started, Buffer.from('1100000000000001ffffffffffffffff78', 'hex')]),
    ],
    ['an unknown frame', Buffer.concat([started, encodeFrame(99)])],
    ['no start', encodeFrame(frameTypes.stdout, Buffer.from('x'))],
    [
      'an exit with both a code and a signal',
      Buffer.concat([
        started,
        encodeJson(frameTypes.exit, {
          exitCode: 0,
          signal: 'SIGTERM',
          timedOut: false,
          oomKilled: false,
          durationMs: 1,
        }),
      ]),
    ],
    [
      'an exit with neither',
      Buffer.concat([
        started,
        encodeJson(frameTypes.exit, {
          exitCode: null,
          signal: null,
          timedOut: false,
          oomKilled: false,
          durationMs: 1,
        }),
      ]),
    ],
    ['an exit that is not JSON', Buffer.concat([started, encodeFrame(frameTypes.exit, Buffer.from('{'))])],
  ])('GL-5: %s cuts it off', async ([, bytes]) => {
    await using hostile = await pose((stream) => {
      stream.respond({ ':status': 200 });
      stream.write(bytes);
    });
    const link = await hostile.open();
    await expect(run(link)).rejects.toMatchObject({ code: 'guest_protocol' });
    await link.close();
  });

  it('GL-8: a call to a silent guest ends at its deadline', async () => {
    await using hostile = await pose(() => {});
    const link = await hostile.open();
    await expect(
      guestFiles(link, 'sandbox').stat('/x', { signal: AbortSignal.timeout(300) }),
    ).rejects.toMatchObject({ code: 'cancelled' });
    await link.close();
  });

  it('GL-8: a call without a deadline of its caller ends at its own deadline', async () => {
    await using hostile = await pose(() => {});
    const link = await hostile.open();
    await expect(guestFiles(link, 'sandbox').stat('/x')).rejects.toMatchObject({ code: 'timed_out' });
    await link.close();
  });

  it('GL-8: a guest that starts a command and never speaks again does not hold its caller for ever', async () => {
    await using hostile = await pose((stream) => {
      stream.respond({ ':status': 200 });
      stream.write(started);
    });
    const link = await hostile.open();
    const process = await ProcessStream.start(link, guestCommand('x', { argv: ['true'] }));
    const reading = (async () => {
      for await (const _ of process);
    })();
    process.drop();
    await reading;
    await link.close();
  });

  it('GL-5: the host gives up a guest that ends every stream', async () => {
    let attached = 0;
    await using hostile = await pose((stream, path) => {
      if (!path.includes('attach')) {
        stream.respond({ ':status': 200 });
        stream.end(started);
        return;
      }
      attached += 1;
      stream.respond({ ':status': 200 });
      stream.end(started);
    });
    const link = await hostile.open();
    await expect(run(link)).rejects.toMatchObject({ code: 'guest_protocol' });
    expect(attached).toBeLessThan(30);
    await link.close();
  });

  it('GL-8: a caller that gives up waiting for a lost link leaves nothing behind', async () => {
    await using hostile = await pose(() => {});
    const link = await hostile.open();
    hostile.cut();
    await expect(
      guestFiles(link, 'sandbox').stat('/x', { signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: 'cancelled' });
    await link.close();
  });

  it('GL-5 REL-3: random frames never hang or crash the host', async () => {
    const seed = randomInt(2 ** 31);
    console.log(`hostile frames, seed ${seed}`);
    const random = generator(seed);
    await using hostile = await pose((stream) => {
      stream.respond({ ':status': 200 });
      const noise = Buffer.from(Array.from({ length: random() % 400 }, () => random() & 255));
      const framed = random() % 2 === 0 ? encodeFrame(16 + (random() % 5), noise, random() % 3) : noise;
      stream.end(Buffer.concat([...(random() % 4 === 0 ? [] : [started]), framed]));
    });
    for (let round = 0; round < 100; round += 1) {
      const link = await hostile.open();
      const running = run(link).then(
        () => 'it ended as if all were well',
        (error) => error,
      );
      // Retries end with the link at the latest; otherwise the test's deadline fails.
      await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 150))]);
      await link.close();
      const outcome = await running;
      expect(isGeodeError(outcome), `round ${round}: ${outcome}`).toBe(true);
    }
  });

  it('REL-3: frames cut anywhere come out whole', () => {
    const random = generator(7);
    for (let round = 0; round < 300; round += 1) {
      const frames = Array.from({ length: 1 + (random() % 8) }, (_, index) =>
        encodeFrame(17, Buffer.alloc(random() % 5_000, index), index),
      );
      const bytes = Buffer.concat(frames);
      const reader = new FrameReader();
      const seen: Buffer[] = [];
      for (let at = 0; at < bytes.length; ) {
        const next = Math.min(bytes.length, at + 1 + (random() % 3_000));
        for (const { type, offset, payload } of reader.read(bytes.subarray(at, next)))
          seen.push(encodeFrame(type, payload, offset));
        at = next;
      }
      expect(Buffer.concat(seen).equals(bytes)).toBe(true);
      expect(reader.pendingBytes).toBe(0);
    }
  });
});

function endless(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 });
  const more = () => {
    while (!stream.destroyed && stream.write(Buffer.alloc(65_536, ' ')));
  };
  stream.on('drain', more);
  more();
}

/** Small and repeatable: what a printed seed gave once it gives again. */
function generator(seed: number): () => number {
  let state = seed || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
