/** Makes resumable uploads: with tus-js-client, or with single requests. */
import { createHash } from 'node:crypto'
import { type HttpResponse, Upload, type UploadOptions } from 'tus-js-client'

export const tusPath = '/api/upload/resumable'

export interface Sent {
  /** The address of the upload. */
  url: string
  /** The path of the stored file. */
  path: string | undefined
  last: HttpResponse
}

export interface TusTarget {
  url: string
  token: string
  metadata: Record<string, string>
}

function tusUpload(
  target: TusTarget,
  bytes: Buffer,
  options: UploadOptions,
  settle: (error: Error | null, sent?: Sent) => void,
): Upload {
  const upload = new Upload(bytes, {
    endpoint: target.url + tusPath,
    headers: { authorization: `Bearer ${target.token}` },
    metadata: target.metadata,
    retryDelays: [0, 20, 50, 100],
    onError: error => settle(new Error(error.message)),
    onSuccess: ({ lastResponse }) => {
      const path = lastResponse.getHeader('upload-stored-path')
      settle(null, { url: upload.url ?? '', path: path && decodeURIComponent(path), last: lastResponse })
    },
    ...options,
  })
  return upload
}

/** Uploads a whole file. @throws the error that made tus-js-client stop */
export function send(target: TusTarget, bytes: Buffer, options: UploadOptions = {}): Promise<Sent> {
  return new Promise((resolve, reject) => {
    tusUpload(target, bytes, options, (error, sent) => (sent ? resolve(sent) : reject(error))).start()
  })
}

/** Sends one request of the protocol. */
export function tus(
  target: Pick<TusTarget, 'url' | 'token'>,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body: Buffer | null = null,
): Promise<Response> {
  const patch = method === 'PATCH' ? { 'content-type': 'application/offset+octet-stream' } : {}
  return fetch(new URL(path, target.url), {
    method,
    headers: { authorization: `Bearer ${target.token}`, 'tus-resumable': '1.0.0', ...patch, ...headers },
    body: body && new Uint8Array(body),
  })
}

export function metadataHeader(metadata: Record<string, string>): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`)
    .join(',')
}

export async function reasonOf(response: Response): Promise<string | undefined> {
  const body = (await response.json()) as { errors?: { extensions: { reason: string } }[] }
  return body.errors?.[0]?.extensions.reason
}

export const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
