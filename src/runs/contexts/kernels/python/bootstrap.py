import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json, os, types
commands = os.fdopen(os.dup(0), 'rb')
hello = json.loads(commands.readline())
for name, source in hello['parts']:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, f'<{name}>', 'exec'), module.__dict__)
sys.modules['geode_kernel'].serve(commands, hello['token'], hello['formLimitBytes'])
