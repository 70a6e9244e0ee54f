/** The S3 credentials of a new key. */
export const s3Texts = {
  use: 'Use it with programs that speak S3',
  buckets: 'Each storage is a bucket. Its name is the one in the address of the storage.',
  endpoint: 'Endpoint',
  region: 'Region',
  accessKeyId: 'Access key ID',
  secretAccessKey: 'Secret access key',
  program: 'Program',
  copyCommands: 'Copy commands',
  resticNeedsDomain:
    'restic needs an endpoint without a path: ask the operator of the server to set STOWAGE_S3_DOMAIN.',
}
