import { isUnstorable } from '../../adapters/onedrive/names.ts'
import { attackBackEnd } from './attack-back-end.ts'
import { onedrive } from './cloud-back-ends.ts'
import { namesOthersGive } from './corpus.ts'

attackBackEnd('OneDrive', onedrive, { every: 4, names: namesOthersGive.filter(name => !isUnstorable(name)) })
