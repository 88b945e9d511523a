import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import {
  connect,
  createSecureContext,
  getCACertificates,
  rootCertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';

const handshakeMs = 15_000;

/** TLS to servers whose certificates the host verifies like the client in the sandbox would. */
export class UpstreamTls {
  readonly #extra: string | undefined;
  #context: SecureContext | undefined;

  /** `extra`: authorities in PEM, trusted in addition to those of Node and the system. */
  constructor(extra?: string) {
    this.#extra = extra;
  }

  /** Shared by all connections, because reading every authority takes a while. */
  get context(): SecureContext {
    const ca = [...getCACertificates('default'), ...getCACertificates('system')];
    this.#context ??= createSecureContext({ ca: this.#extra === undefined ? ca : [...ca, this.#extra] });
    return this.#context;
  }

  /** Rejects if the certificate does not match the host or is not trusted. HTTP/1.1 only. */
  secure(socket: Socket, host: string): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const secured = connect({
        socket,
        host,
        ...(isIP(host) === 0 && { servername: host }),
        ALPNProtocols: ['http/1.1'],
        secureContext: this.context,
        rejectUnauthorized: true,
      });
      const late = setTimeout(() => secured.destroy(new Error('no TLS within 15 s')), handshakeMs);
      const fail = (error: Error) => {
        clearTimeout(late);
        socket.destroy();
        reject(error);
      };
      const gone = () => fail(new Error('the server closed the connection'));
      secured.once('error', fail).once('close', gone);
      secured.once('secureConnect', () => {
        clearTimeout(late);
        secured
          .off('error', fail)
          .off('close', gone)
          .on('error', () => {});
        resolve(secured);
      });
    });
  }
}

/** For images without roots: the roots that Node includes. */
export function commonRoots(): string {
  return rootCertificates.join('\n');
}
