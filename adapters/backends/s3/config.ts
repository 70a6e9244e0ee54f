import { parseEndpoint, parsePrefix } from '../../bases/objects/keys.ts'
import type { ConfigSchema } from '../../contract.ts'
import { isName } from './entry.ts'

export type S3Config = {
  bucket: string
  region: string
  endpoint?: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  forcePathStyle: boolean
  prefix: string
}

/**
 * Keys are required. Without them the SDK would use credentials from the server's own environment on behalf of everybody
 * who can connect a provider.
 */
export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    bucket: {
      type: 'string',
      title: 'Bucket',
      description: 'The name of a bucket that exists.',
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$',
      keepsSecrets: true,
    },
    region: {
      type: 'string',
      title: 'Region',
      description:
        "The region of the bucket, such as eu-central-1. Most servers other than Amazon's accept any; R2 needs auto.",
      default: 'us-east-1',
      pattern: '^[a-z0-9-]{1,64}$',
    },
    endpoint: {
      type: 'string',
      title: 'Endpoint',
      description: "The server's address, such as https://s3.example.com.",
      pattern: '^https?://',
    },
    accessKeyId: { type: 'string', title: 'Access key ID', minLength: 1, maxLength: 256 },
    secretAccessKey: { type: 'string', title: 'Secret access key', minLength: 1, maxLength: 1024, writeOnly: true },
    sessionToken: {
      type: 'string',
      title: 'Session token',
      description: 'Advanced: only with temporary credentials, which stop working when it expires.',
      maxLength: 4096,
      writeOnly: true,
    },
    prefix: {
      type: 'string',
      title: 'Folder in the bucket',
      description: 'Advanced: serves only the content of this folder, such as team/files. Empty for the whole bucket.',
      default: '',
      maxLength: 512,
      keepsSecrets: true,
    },
    forcePathStyle: {
      type: 'boolean',
      title: 'Bucket in the path',
      description:
        'Advanced, with an endpoint only: uses https://endpoint/bucket, which nearly every server accepts, instead of https://bucket.endpoint.',
      default: true,
      keepsSecrets: true,
    },
  },
  required: ['bucket', 'region', 'accessKeyId', 'secretAccessKey', 'forcePathStyle', 'prefix'],
  choices: [
    {
      title: 'Which service',
      options: [
        {
          title: 'Amazon S3',
          properties: [],
          steps: [
            {
              text: 'Create a bucket, or choose one.',
              link: { title: 'Buckets', url: 'https://console.aws.amazon.com/s3/buckets' },
            },
            {
              text: 'Create a user with a policy that allows s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on what is in it.',
              link: { title: 'IAM users', url: 'https://console.aws.amazon.com/iam/home#/users' },
            },
            { text: 'Under “Security credentials” of the user, create an access key, and copy both parts.' },
          ],
        },
        {
          title: 'Another S3 service',
          description: 'MinIO, Ceph, R2, B2, Wasabi, Garage and others.',
          properties: ['endpoint', 'forcePathStyle'],
          required: ['endpoint'],
          steps: [
            { text: 'Create a bucket and an access key for it in the console of the service.' },
            { text: 'Copy the address of the service, and the region if it names one.' },
          ],
        },
      ],
    },
  ],
}

export interface S3Settings {
  bucket: string
  region: string
  /** Undefined for Amazon itself. */
  endpoint: string | undefined
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
  forcePathStyle: boolean
  /** The prefix of every key: empty, or ending in `/`. */
  base: string
  isAmazon: boolean
  /** The start of every `fileId`: the same for all prefixes and, at Amazon, for all endpoints. Ends in `/`. */
  storeId: string
  /** The name of the endpoint in messages. */
  endpointName: string
}

const prefixRule =
  'The folder in the bucket is a list of names separated by "/". No name is ".", "..", or contains a NUL.'

/** @throws INVALID_CONFIG */
export function parseConfig(config: S3Config): S3Settings {
  const { bucket, region, accessKeyId, secretAccessKey, sessionToken, prefix, forcePathStyle } = config
  const endpoint = config.endpoint ? parseEndpoint(config.endpoint, 'https://s3.example.com') : undefined
  const isAmazon = endpoint === undefined || /(^|\.)amazonaws\.com(\.cn)?$/.test(endpoint.hostname)
  return {
    bucket,
    region,
    endpoint: endpoint?.href,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) },
    forcePathStyle: forcePathStyle && endpoint !== undefined,
    base: parsePrefix(prefix, isName, prefixRule),
    isAmazon,
    storeId: `s3:${isAmazon ? `//${partitionOf(region)}/` : endpoint.href.replace(/\/?$/, '/')}${bucket}/`,
    endpointName: endpoint?.host ?? `Amazon S3 in ${region}`,
  }
}

/**
 * Bucket names are unique within a partition of Amazon
 * (docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html).
 */
function partitionOf(region: string): string {
  return /^(cn|us-gov|us-iso[a-z]*|eu-isoe)-/.exec(region)?.[1] ?? 'aws'
}
