/** The calls that a browser application of another origin makes. `test/web/other-origins.test.ts` bundles and calls it. */
import { GraphQLClient } from 'graphql-request'
import { Upload } from 'tus-js-client'
import { Stowage } from '../../packages/client/src/index.ts'

export type PageRequest = Pick<RequestInit, 'credentials'> & { headers?: Record<string, string> }

export interface OtherOriginPage {
  query(server: string, key: string): Promise<unknown>
  upload(server: string, key: string, providerId: string): Promise<string | null>
  download(url: string, key: string): Promise<{ content: string; etag: string | null; range: string | null }>
  /** Uploads, downloads, copies and lists with the TypeScript client. */
  useClient(server: string, key: string, providerId: string): Promise<unknown>
  /** Resolves with the name of the error if the browser does not permit the request or its response. */
  send(url: string, init: PageRequest): Promise<number | string>
}

const page: OtherOriginPage = {
  query(server, key) {
    const client = new GraphQLClient(`${server}/graphql`, { headers: { authorization: `Bearer ${key}` } })
    return client.request('{ me { email } }')
  },

  upload: (server, key, providerId) =>
    new Promise((resolve, reject) => {
      const upload = new Upload(new Blob(['a file of another origin']), {
        endpoint: `${server}/api/upload/resumable`,
        headers: { authorization: `Bearer ${key}` },
        metadata: { providerId, path: '/uploaded.txt' },
        chunkSize: 10,
        retryDelays: [],
        onError: reject,
        onSuccess: ({ lastResponse }) => resolve(lastResponse.getHeader('Upload-Stored-Path') ?? null),
      })
      upload.start()
    }),

  async download(url, key) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}`, range: 'bytes=2-5' } })
    const { headers } = response
    return { content: await response.text(), etag: headers.get('etag'), range: headers.get('content-range') }
  },

  async useClient(server, key, providerId) {
    const stowage = new Stowage({ url: server, credential: key })
    const body = new Blob([new Uint8Array(9 * 1024 * 1024).fill(7)])
    const progress: number[] = []
    const onProgress = (sent: number) => void progress.push(sent)
    const path = await stowage.files.upload({ providerId, path: '/client/large.bin', body, onProgress })
    const isIncreasing = progress.length > 2 && progress.every((sent, index) => sent >= (progress[index - 1] ?? 0))
    const aborted = { providerId, path: '/client/aborted.bin', body: new Blob(['x']), onProgress }
    const error = await stowage.files.upload({ ...aborted, signal: AbortSignal.abort() }).catch(({ name }) => name)
    const { body: content } = await stowage.files.download({ providerId, path })
    const { byteLength } = await new Response(content).arrayBuffer()
    const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
    const input = { kind: 'COPY', sources: [{ providerId, path: '/client' }], target: { providerId, path: '/copied' } }
    const { createJob } = await stowage.graphql<{ createJob: { job: { id: string } } }, object>(create, { input })
    const { state } = await stowage.jobs.wait(createJob.job.id)
    const paths: string[] = []
    for await (const entry of stowage.files.walk({ providerId, path: '/copied' })) paths.push(entry.path)
    return { path, isIncreasing, error, byteLength, state, paths }
  },

  send: (url, init) =>
    fetch(url, init).then(
      ({ status }) => status,
      (error: Error) => error.name,
    ),
}

Object.assign(globalThis, { page })
