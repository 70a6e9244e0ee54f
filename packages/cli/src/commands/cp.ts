import { command } from '../command.ts'
import { copy } from '../copy.ts'
import { jobFields } from '../jobs/job.ts'
import { concurrencyOption, conflictOption, detachOption, linksOption, recursiveOption } from '../transfer/options.ts'
import { stepFields } from '../transfer/transfer.ts'

export const cp = command({
  name: 'cp',
  operands: '<source>... <target>',
  help: 'Copy files and folders between this machine and storages, and between storages. "-" is the standard input or output.',
  options: { ...recursiveOption, ...conflictOption, ...linksOption, ...concurrencyOption, ...detachOption },
  json: { file: stepFields, job: jobFields },
  run: (context, { operands, options }) =>
    copy(context, operands, { ...options, followLinks: options['follow-links'] }),
})
