import { command } from '../command.ts'
import { jobFields } from '../jobs/job.ts'
import { synchronize } from '../sync.ts'
import { concurrencyOption, detachOption, linksOption, yesOption } from '../transfer/options.ts'
import { stepFields } from '../transfer/transfer.ts'

export const sync = command({
  name: 'sync',
  operands: '<source> <target>',
  help: 'Make the content of the target folder equal to the source folder, in this direction only. Files that do not differ stay.',
  options: {
    'dry-run': { short: 'n', help: 'Print what would be done, and change nothing.' },
    delete: { help: 'Delete what exists only at the target. Nothing is deleted if something failed.' },
    ...yesOption,
    ...linksOption,
    ...concurrencyOption,
    ...detachOption,
  },
  json: { file: stepFields, job: jobFields },
  run: (context, { operands: [source = '', target = ''], options }) =>
    synchronize(
      context,
      { source, target },
      {
        ...options,
        isDryRun: options['dry-run'],
        followsLinks: options['follow-links'],
      },
    ),
})
