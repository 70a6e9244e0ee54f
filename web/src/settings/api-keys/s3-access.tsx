import { useState } from 'react'
import { s3Texts as texts } from '../../texts/settings.tsx'
import { Choices } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import type { NewApiKey } from './operations.ts'

type Credentials = NewApiKey['s3']

const programs = [
  { value: 'aws', title: 'AWS CLI' },
  { value: 'rclone', title: 'rclone' },
  { value: 'restic', title: 'restic' },
] as const

type Program = (typeof programs)[number]['value']

/** Shows the credentials of a new key for programs that speak S3, with commands that work as they are. */
export function S3Access({ credentials }: { credentials: Credentials }) {
  const [program, setProgram] = useState<Program>('aws')
  const commands = commandsFor(program, credentials)
  return (
    <details>
      <summary>{texts.use}</summary>
      <p className="help">{texts.buckets}</p>
      <dl className="facts">
        <dt>{texts.endpoint}</dt>
        <dd>
          <code>{credentials.endpoint}</code>
        </dd>
        <dt>{texts.region}</dt>
        <dd>
          <code>{credentials.region}</code>
        </dd>
        <dt>{texts.accessKeyId}</dt>
        <dd>
          <code>{credentials.accessKeyId}</code>
        </dd>
        <dt>{texts.secretAccessKey}</dt>
        <dd>
          <code className="secret" data-testid="new-s3-secret">
            {credentials.secretAccessKey}
          </code>
        </dd>
      </dl>
      <Choices label={texts.program} layout="row" choices={programs} value={program} onChange={setProgram} />
      <code className="secret" data-testid="s3-commands">
        {commands}
      </code>
      {program === 'restic' && hasPath(credentials.endpoint) && <p className="help">{texts.resticNeedsDomain}</p>}
      <div className="actions">
        <CopyButton text={commands} label={texts.copyCommands} />
      </div>
    </details>
  )
}

function commandsFor(program: Program, { accessKeyId, secretAccessKey, endpoint, region }: Credentials): string {
  const environment = [`export AWS_ACCESS_KEY_ID=${accessKeyId}`, `export AWS_SECRET_ACCESS_KEY=${secretAccessKey}`]
  if (program === 'aws') {
    return [...environment, `export AWS_DEFAULT_REGION=${region}`, `aws --endpoint-url ${endpoint} s3 ls`].join('\n')
  }
  if (program === 'restic') {
    return [...environment, `restic -r s3:${endpoint}/BUCKET/FOLDER -o s3.bucket-lookup=path init`].join('\n')
  }
  const settings = [
    'provider=Other',
    `access_key_id=${accessKeyId}`,
    `secret_access_key=${secretAccessKey}`,
    `endpoint=${endpoint}`,
    `region=${region}`,
  ]
  return [`rclone config create stowage s3 ${settings.join(' ')}`, 'rclone lsd stowage:'].join('\n')
}

function hasPath(endpoint: string): boolean {
  return new URL(endpoint).pathname !== '/'
}
