import { together } from '../support/together.ts'

await together(['hostile', 's3', 'sftp'])
