from prism.exporters._configuration_lines import EVERY, SILENT


def test_each_line_names_its_document():
    for vendors in EVERY:
        for line in vendors.values():
            assert line.text
            assert line.document or vendors is SILENT
