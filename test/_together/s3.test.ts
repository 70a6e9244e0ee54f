import { together } from '../support/together.ts'

await together(['s3', 'sftp'])
