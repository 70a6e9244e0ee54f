/** A server with a local provider, and clients of the AWS SDK for it. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import type { Test } from 'tap'
import { startApp, type TestApp, type TestAppOptions } from '../support/app.ts'

export interface S3Keys {
  accessKeyId: string
  secretAccessKey: string
}

export interface S3World {
  app: TestApp
  /** The token of the owner's session. */
  token: string
  /** The folder of the bucket `files`. */
  root: string
  providerId: string
  /** Creates an API key. @returns its credentials for S3, its value and its id */
  createKey(input?: object): Promise<{ s3: S3Keys; key: string; id: string }>
  /** Returns a client. Default: with a key that may do everything. */
  client(s3?: S3Keys, more?: S3ClientConfig): S3Client
  connect(name: string, slug: string): Promise<{ providerId: string; root: string }>
}

const createMutation =
  'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { id } s3 { accessKeyId secretAccessKey endpoint region } } }'

export async function createS3World(t: Test, options: TestAppOptions = {}): Promise<S3World> {
  const app = await startApp(t, options)
  const { token } = await app.register('owner@example.org')
  const connect = async (name: string, slug: string) => {
    const root = join(app.folder, slug)
    await mkdir(root)
    const query = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
    const input = { type: 'local', name, slug, config: { root } }
    const { connectProvider } = await app.ask(query, { input }, token)
    return { providerId: connectProvider.provider.id as string, root }
  }
  const { providerId, root } = await connect('Files', 'files')
  const createKey = async (input: object = {}) => {
    const { createApiKey } = await app.ask(
      createMutation,
      { input: { name: 's3', scopes: ['write'], ...input } },
      token,
    )
    return { s3: createApiKey.s3, key: createApiKey.key, id: createApiKey.apiKey.id }
  }
  const { s3: everything } = await createKey()
  const client = (s3: S3Keys = everything, more: S3ClientConfig = {}) => {
    const { accessKeyId, secretAccessKey } = s3
    const made = new S3Client({
      endpoint: `${app.url}/s3`,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
      maxAttempts: 1,
      ...more,
    })
    t.teardown(() => made.destroy())
    return made
  }
  return { app, token, root, providerId, createKey, client, connect }
}

/** Returns the code of the error that a request fails with, or its status if it has no body. */
export async function codeOf(sending: Promise<unknown>): Promise<string> {
  return sending.then(
    () => 'none',
    error => error.Code ?? (error.name === 'Unknown' ? String(error.$metadata?.httpStatusCode) : error.name),
  )
}
